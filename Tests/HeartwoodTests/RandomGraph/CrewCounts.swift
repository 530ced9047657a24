import Synchronization

/// Counts how often all runs of this process have performed each operation.
enum CrewCounts {
  private static let all = Mutex<[String: Int]>([:])

  /// Adds the counts of a run, and prints the totals so far.
  static func add(_ counts: [String: Int]) {
    let sums = all.withLock { sums in
      sums.merge(counts) { $0 + $1 }
      return sums
    }
    let total = CrewOperation.allCases.reduce(0) { $0 + (sums["\($1)"] ?? 0) }
    let list = sums.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    print("random graph: \(total) operations: \(list.joined(separator: ", "))")
  }
}
