import Synchronization
import Testing

/// The number of times that each operation was performed, in all runs of a suite.
///
/// As a trait of the suite, it prints the sums when all tests of the suite have ended.
struct CrewCounts: SuiteTrait, TestScoping {
  private static let all = Mutex<[String: Int]>([:])

  static func add(_ counts: [String: Int]) {
    all.withLock { $0.merge(counts) { $0 + $1 } }
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: () async throws -> Void
  ) async throws {
    try await function()
    let sums = Self.all.withLock { $0 }
    let total = CrewOperation.allCases.reduce(0) { $0 + (sums["\($1)"] ?? 0) }
    let list = sums.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    print("random graph: \(total) operations: \(list.joined(separator: ", "))")
  }
}
