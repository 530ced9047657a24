/// A hash table with object numbers as keys.
///
/// A context performs a lookup in such a table for every row that it reads, so lookups must be
/// fast. The hash function is therefore a single multiplication. `Dictionary` would take five times
/// as long, because its hash function protects against deliberate collisions. This table does not
/// need such protection, because an attacker cannot choose the numbers. Collisions are resolved by
/// linear probing (D. E. Knuth, *The Art of Computer Programming* 3, § 6.4, algorithm L). A removed
/// number leaves a tombstone, so that probing continues past it. The tombstone is cleared when no
/// later entry needs it. The alternative, moving later entries into each hole (algorithm R), would
/// account for a tenth of the time needed to fetch and release objects.
package struct NumberTable<Value> {
  private struct Entry {
    /// The key of the entry.
    ///
    /// If the entry has no value, the number is 1 for a tombstone, and 0 for an empty entry.
    var number: Int64
    var value: Value?

    static var empty: Entry { Entry(number: 0, value: nil) }
    static var removed: Entry { Entry(number: 1, value: nil) }

    var isEmpty: Bool { value == nil && number == 0 }
    var isRemoved: Bool { value == nil && number == 1 }
  }

  private var entries: [Entry] = []
  package private(set) var count = 0
  /// The number of tombstones.
  private var removedCount = 0
  /// The number of bits by which the hash function shifts the product to the right.
  private var shift = 64

  package init() {}

  package var values: [Value] { entries.compactMap(\.value) }

  /// Returns the position at which the search for a number starts.
  ///
  /// Consecutive numbers usually have adjacent positions. Rows are usually read in order, so
  /// successive lookups often access the same cache line or at least the same memory page.
  private func preferredPosition(_ number: Int64) -> Int {
    let group = UInt64(bitPattern: number >> Self.neighbourBits) &* 0x9E37_79B9_7F4A_7C15
    let neighbour = Int(number & (1 << Self.neighbourBits - 1))
    return Int(group >> UInt64(shift)) << Self.neighbourBits | neighbour
  }

  private static var neighbourBits: Int { 4 }

  /// Returns the position of a number, or the position at which to insert the number if it is
  /// absent.
  @inline(__always)
  private func position(_ number: Int64) -> Int {
    var position = preferredPosition(number)
    while true {
      let isFound =
        entries[position].value == nil
        ? entries[position].isEmpty : entries[position].number == number
      if isFound { return position }
      position = (position + 1) & (entries.count - 1)
    }
  }

  package subscript(number: ObjectNumber) -> Value? {
    get { entries.isEmpty ? nil : entries[position(number.bits)].value }
    set {
      guard let newValue else {
        removeValue(of: number)
        return
      }
      if (count + removedCount + 1) * 2 > entries.count { rebuild(for: max(8, 2 * count)) }
      let position = position(number.bits)
      if entries[position].value == nil { count += 1 }
      entries[position] = Entry(number: number.bits, value: newValue)
    }
  }

  /// Reserves space for the given number of values, which includes the values already in the table.
  package mutating func reserveCapacity(_ total: Int) {
    if total > count, (total + removedCount) * 2 > entries.count { rebuild(for: max(8, total)) }
  }

  /// Rebuilds the table without tombstones, and with space for the given number of values.
  private mutating func rebuild(for total: Int) {
    let old = entries
    let newCount = 1 << (Int.bitWidth - (2 * total - 1).leadingZeroBitCount)
    entries = Array(repeating: .empty, count: newCount)
    removedCount = 0
    shift = 64 + Self.neighbourBits - newCount.trailingZeroBitCount
    for entry in old where entry.value != nil { entries[position(entry.number)] = entry }
  }

  /// Removes and returns the value for a number.
  @discardableResult
  package mutating func removeValue(of number: ObjectNumber) -> Value? {
    guard !entries.isEmpty else { return nil }
    var position = position(number.bits)
    guard let value = entries[position].value else { return nil }
    count -= 1
    entries[position] = .removed
    removedCount += 1
    // Clear the tombstones directly before an empty entry, because probing stops at the empty entry
    // even without them.
    guard entries[(position + 1) & (entries.count - 1)].isEmpty else { return value }
    while entries[position].isRemoved {
      entries[position] = .empty
      removedCount -= 1
      position = (position - 1) & (entries.count - 1)
    }
    return value
  }

  package mutating func removeAll() {
    entries = []
    (count, removedCount) = (0, 0)
    shift = 64
  }
}
