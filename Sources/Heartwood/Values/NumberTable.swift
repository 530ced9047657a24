/// A hash table with object numbers as keys.
///
/// A context looks up every row that it reads in such a table, so lookups must be fast. The hash
/// function is therefore a single multiplication. `Dictionary` would take five times as long,
/// because its hash function protects against deliberate collisions. This protection is unnecessary
/// here, because an attacker cannot choose the numbers. Collisions are resolved by linear probing
/// (D. E. Knuth, *The Art of Computer Programming* 3, § 6.4, algorithms L and R).
package struct NumberTable<Value> {
  private struct Entry {
    var number: Int64
    var value: Value?
  }

  private var entries: [Entry] = []
  package private(set) var count = 0
  /// The number of bits by which the hash function shifts the product to the right.
  private var shift = 64

  package init() {}

  package var values: [Value] { entries.compactMap(\.value) }

  /// Returns the position at which the search for a number starts.
  ///
  /// Consecutive numbers usually have adjacent positions. Because rows are usually read in order,
  /// several lookups in a row then access the same cache line.
  private func preferredPosition(_ number: Int64) -> Int {
    let group = UInt64(bitPattern: number >> Self.neighbourBits) &* 0x9E37_79B9_7F4A_7C15
    let neighbour = Int(number & (1 << Self.neighbourBits - 1))
    return Int(group >> UInt64(shift)) << Self.neighbourBits | neighbour
  }

  private static var neighbourBits: Int { 2 }

  /// Returns the position of a number, or the position at which to insert it if it is absent.
  private func position(_ number: Int64) -> Int {
    var position = preferredPosition(number)
    while entries[position].value != nil, entries[position].number != number {
      position = (position + 1) & (entries.count - 1)
    }
    return position
  }

  package subscript(number: ObjectNumber) -> Value? {
    get { entries.isEmpty ? nil : entries[position(number.bits)].value }
    set {
      guard let newValue else { return remove(number.bits) }
      if (count + 1) * 2 > entries.count { grow() }
      let position = position(number.bits)
      if entries[position].value == nil { count += 1 }
      entries[position] = Entry(number: number.bits, value: newValue)
    }
  }

  private mutating func grow() {
    let old = entries
    let newCount = max(16, old.count * 2)
    entries = Array(repeating: Entry(number: 0, value: nil), count: newCount)
    shift = 64 + Self.neighbourBits - newCount.trailingZeroBitCount
    for entry in old where entry.value != nil { entries[position(entry.number)] = entry }
  }

  private mutating func remove(_ number: Int64) {
    guard !entries.isEmpty else { return }
    var hole = position(number)
    guard entries[hole].value != nil else { return }
    count -= 1
    // Probing stops at a hole, so fill the hole with a later entry whose probe sequence crosses it.
    var position = hole
    while true {
      position = (position + 1) & (entries.count - 1)
      guard entries[position].value != nil else { break }
      let distance = (position - preferredPosition(entries[position].number)) & (entries.count - 1)
      if distance >= (position - hole) & (entries.count - 1) {
        entries[hole] = entries[position]
        hole = position
      }
    }
    entries[hole].value = nil
  }

  package mutating func removeAll() {
    entries = []
    count = 0
    shift = 64
  }
}
