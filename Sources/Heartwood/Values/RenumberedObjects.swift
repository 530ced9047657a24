/// The numbers that objects of one tree of contexts had, and which numbers replaced them.
///
/// Objects that were inserted one after the other mostly get consecutive numbers, so a run of them
/// is one entry: a million objects that are inserted and saved together take some thirty. Its
/// variables are unchecked, because every object that is looked for by number is looked for here.
package final class RenumberedObjects {
  /// By the number of the entity: numbers of different entities would interrupt each other's runs.
  @exclusivity(unchecked) private var temporary: [NumberRuns] = []
  @exclusivity(unchecked) private var permanent: [NumberRuns] = []
  /// The number of replacements so far.
  @exclusivity(unchecked) package private(set) var changeCount = 0

  package init() {}

  /// The same for another thread, which does not see what is recorded here from now on.
  package var copy: RenumberedObjects {
    let copy = RenumberedObjects()
    (copy.temporary, copy.permanent, copy.changeCount) = (temporary, permanent, changeCount)
    return copy
  }

  /// The number of entries in memory.
  package var entryCount: Int {
    (temporary + permanent).reduce(0) { $0 + $1.entryCount }
  }

  /// Records that an object has another number.
  package func record(_ new: ObjectNumber, insteadOf old: ObjectNumber) {
    // From and to numbers that were not replaced: so no chain of replacements is a cycle.
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

  /// Returns the number that an object has now; the number itself, if it was not replaced.
  ///
  /// - Complexity: O(log n) in the number of entries, for each replacement of this number.
  package func resolved(_ number: ObjectNumber) -> ObjectNumber {
    var number = number
    while let next = successor(of: number) { number = next }
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

/// Pairs of numbers, as runs in which both ascend by one.
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

  /// In ascending order of the old numbers.
  private var runs: [Run] = []
  /// Pairs that came out of order and belong before the end of `runs`.
  private var unordered: [Int64: Int64] = [:]
  /// The most of them, beside which they are as many as half the runs: merging them each time would
  /// cost the square of their number.
  private static let mostUnordered = 256

  var entryCount: Int { runs.count + unordered.count }

  /// Adds a pair whose old number is not in there yet.
  mutating func add(_ old: Int64, _ new: Int64) {
    guard let last = runs.last else { return runs.append(Run(old: old, new: new)) }
    if last.isContinued(by: old, new) {
      runs[runs.count - 1].count += 1
    } else if old > last.old {
      runs.append(Run(old: old, new: new))
    } else {
      unordered[old] = new
      if unordered.count > Self.mostUnordered + runs.count / 2 { mergeUnordered() }
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
    // The first run that begins behind the number.
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].old <= old { low = middle + 1 } else { high = middle }
    }
    guard low > 0, runs[low - 1].contains(old) else { return nil }
    return runs[low - 1].new + (old - runs[low - 1].old)
  }
}
