/// An open-addressing hash table of the writer's pages, keyed by page number.
///
/// Lookups must be fast, because a transaction looks up a page at every step of a tree descent.
package struct WorkingTable {
  private var numbers: UnsafeMutablePointer<PageNumber>
  private var blocks: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  private var mask: Int
  private var count = 0
  /// The number that marks an unused position.
  private static let none = PageNumber.max

  init() {
    mask = 63
    numbers = .allocate(capacity: 64)
    blocks = .allocate(capacity: 64)
    numbers.initialize(repeating: Self.none, count: 64)
    blocks.initialize(repeating: nil, count: 64)
  }

  func deallocate() {
    numbers.deallocate()
    blocks.deallocate()
  }

  @inline(__always)
  private func position(of number: PageNumber) -> Int {
    var position = Int(truncatingIfNeeded: (UInt64(number) &* 0x9E37_79B9_7F4A_7C15) &>> 32) & mask
    while numbers[position] != number, numbers[position] != Self.none {
      position = (position &+ 1) & mask
    }
    return position
  }

  /// Returns the writer's version of a page, or `nil` if the writer has none.
  @inline(__always)
  func block(of number: PageNumber) -> UnsafeMutableRawPointer? {
    blocks[position(of: number)]
  }

  /// Returns whether a page has an entry.
  ///
  /// An entry may merely record that the writer has no version of the page.
  func contains(_ number: PageNumber) -> Bool { numbers[position(of: number)] != Self.none }

  /// Sets the bytes of a page.
  ///
  /// If `block` is `nil`, the entry records that the writer has no version of the page.
  mutating func set(_ block: UnsafeMutableRawPointer?, of number: PageNumber) {
    if (count + 1) * 2 > mask { grow() }
    let position = position(of: number)
    if numbers[position] == Self.none {
      numbers[position] = number
      count += 1
    }
    blocks[position] = block
  }

  func forEach(_ body: (PageNumber, UnsafeMutableRawPointer?) -> Void) {
    guard count > 0 else { return }
    for position in 0...mask where numbers[position] != Self.none {
      body(numbers[position], blocks[position])
    }
  }

  /// Removes all entries.
  ///
  /// The caller must free the bytes of the pages.
  mutating func removeAll() {
    guard count > 0 else { return }
    numbers.update(repeating: Self.none, count: mask + 1)
    blocks.update(repeating: nil, count: mask + 1)
    count = 0
  }

  private mutating func grow() {
    let oldNumbers = numbers
    let oldBlocks = blocks
    let oldMask = mask
    mask = mask * 2 + 1
    numbers = .allocate(capacity: mask + 1)
    blocks = .allocate(capacity: mask + 1)
    numbers.initialize(repeating: Self.none, count: mask + 1)
    blocks.initialize(repeating: nil, count: mask + 1)
    for old in 0...oldMask where oldNumbers[old] != Self.none {
      let position = position(of: oldNumbers[old])
      numbers[position] = oldNumbers[old]
      blocks[position] = oldBlocks[old]
    }
    oldNumbers.deallocate()
    oldBlocks.deallocate()
  }
}
