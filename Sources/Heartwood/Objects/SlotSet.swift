/// A set of property slots.
package struct SlotSet: Equatable, Sendable {
  private var low: UInt64 = 0
  /// The bits of slots 64 and above, with 64 bits in each word.
  ///
  /// For most entities, the array is empty.
  private var high: [UInt64] = []

  package init() {}

  package init(_ slots: some Sequence<Int>) {
    for slot in slots { insert(slot) }
  }

  package var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

  package func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low & 1 << slot != 0 }
    let position = slot / 64 - 1
    return position < high.count && high[position] & 1 << (slot % 64) != 0
  }

  package mutating func insert(_ slot: Int) {
    guard slot >= 64 else { return low |= 1 << slot }
    let position = slot / 64 - 1
    while high.count <= position { high.append(0) }
    high[position] |= 1 << (slot % 64)
  }

  package mutating func formUnion(_ other: SlotSet) {
    low |= other.low
    while high.count < other.high.count { high.append(0) }
    for (position, slots) in other.high.enumerated() { high[position] |= slots }
  }

  package mutating func remove(_ slot: Int) {
    guard slot >= 64 else { return low &= ~(1 << slot) }
    guard contains(slot) else { return }
    high[slot / 64 - 1] &= ~(1 << (slot % 64))
  }
}
