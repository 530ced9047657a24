/// A map from replaced object numbers to their replacements.
///
/// All contexts in a tree share the map. Objects that are inserted one after another usually
/// receive consecutive numbers, so one entry can represent a run of numbers. A million objects that
/// are inserted and saved together need about thirty entries. The stored properties skip
/// exclusivity checks, because every lookup of an object by number reads them.
package final class RenumberedObjects {
  /// The replacements of temporary numbers, indexed by entity number.
  ///
  /// The numbers of each entity are stored separately. Otherwise, alternating insertions of two
  /// entities would interrupt the runs of consecutive numbers.
  @exclusivity(unchecked) private var temporary: [NumberRuns] = []
  @exclusivity(unchecked) private var permanent: [NumberRuns] = []
  /// The number of replacements so far.
  @exclusivity(unchecked) package private(set) var changeCount = 0

  package init() {}

  /// A copy of the map for use on another thread.
  ///
  /// Replacements that are recorded later are not added to the copy.
  package var copy: RenumberedObjects {
    let copy = RenumberedObjects()
    (copy.temporary, copy.permanent, copy.changeCount) = (temporary, permanent, changeCount)
    return copy
  }

  /// The number of entries in memory.
  package var entryCount: Int {
    (temporary + permanent).reduce(0) { $0 + $1.entryCount }
  }

  /// Records that an object's number was replaced with a new number.
  package func record(_ new: ObjectNumber, insteadOf old: ObjectNumber) {
    // Resolve both numbers first, to keep the chains of replacements free of cycles.
    let (old, target) = (resolved(old), resolved(new))
    guard old != target else { return }
    changeCount += 1
    if old.isTemporary {
      Self.record(target, insteadOf: old, in: &temporary)
    } else {
      Self.record(target, insteadOf: old, in: &permanent)
    }
  }

  private static func record(
    _ new: ObjectNumber, insteadOf old: ObjectNumber, in runs: inout [NumberRuns]
  ) {
    while runs.count <= old.entity { runs.append(NumberRuns()) }
    runs[old.entity].add(old.bits, new.bits)
  }

  /// Returns an object's current number, given that number or an earlier one.
  ///
  /// - Complexity: O(log n) for each time that the number has been replaced, where n is the number
  ///   of entries.
  package func resolved(_ number: ObjectNumber) -> ObjectNumber {
    var number = number
    while let next = successor(of: number) { number = next }
    return number
  }

  /// Returns an object's current number, or its last number if another object has replaced it.
  ///
  /// - Parameter replaced: The last numbers of objects that have been replaced by other objects.
  func resolved(_ number: ObjectNumber, unlessIn replaced: Set<ObjectNumber>) -> ObjectNumber {
    var number = number
    while !replaced.contains(number), let next = successor(of: number) { number = next }
    return number
  }

  private func successor(of number: ObjectNumber) -> ObjectNumber? {
    number.isTemporary
      ? Self.successor(of: number, in: temporary) : Self.successor(of: number, in: permanent)
  }

  @inline(__always)
  private static func successor(
    of number: ObjectNumber, in runs: [NumberRuns]
  ) -> ObjectNumber? {
    guard number.entity < runs.count else { return nil }
    return runs[number.entity][number.bits].map { ObjectNumber(bits: $0) }
  }
}

/// Pairs of old and new numbers, stored as runs.
///
/// In a run, both numbers increase by one from each pair to the next.
private struct NumberRuns {
  private struct Run {
    let old: Int64
    let new: Int64
    var count: Int64 = 1

    func contains(_ number: Int64) -> Bool { number >= old && number - old < count }

    func isContinued(by old: Int64, _ new: Int64) -> Bool {
      old - self.old == count && new - self.new == count
    }
  }

  /// The runs, in ascending order of their old numbers.
  private var runs: [Run] = []
  /// The pairs that were added out of order.
  ///
  /// The old numbers of these pairs are less than the old numbers in the last run.
  private var unordered: [Int64: Int64] = [:]
  /// The maximum size of `unordered` if there are no runs.
  ///
  /// The maximum increases by one for every two runs. When `unordered` exceeds the maximum, its
  /// pairs are merged into `runs`. Merging after every insertion would take quadratic time.
  private static let maxUnorderedCount = 256

  var entryCount: Int { runs.count + unordered.count }

  /// Adds a pair whose old number is not present yet.
  mutating func add(_ old: Int64, _ new: Int64) {
    guard let last = runs.last else { return runs.append(Run(old: old, new: new)) }
    if last.isContinued(by: old, new) {
      runs[runs.count - 1].count += 1
    } else if old > last.old {
      runs.append(Run(old: old, new: new))
    } else {
      unordered[old] = new
      if unordered.count > Self.maxUnorderedCount + runs.count / 2 { mergeUnordered() }
    }
  }

  private mutating func mergeUnordered() {
    let all = (runs + unordered.map { Run(old: $0, new: $1) }).sorted { $0.old < $1.old }
    unordered = [:]
    runs = []
    for run in all {
      if let last = runs.last, last.isContinued(by: run.old, run.new) {
        runs[runs.count - 1].count += run.count
      } else {
        runs.append(run)
      }
    }
  }

  subscript(old: Int64) -> Int64? {
    if !unordered.isEmpty, let new = unordered[old] { return new }
    // Find the position of the first run that begins after `old`.
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].old <= old { low = middle + 1 } else { high = middle }
    }
    guard low > 0, runs[low - 1].contains(old) else { return nil }
    return runs[low - 1].new + (old - runs[low - 1].old)
  }
}
