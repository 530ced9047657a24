/// The layout of leaves and branches, starting after the fields that all pages share.
///
///     26       28             30         32          36         40        heads
///     ┌────────┬──────────────┬──────────┬───────────┬──────────┬─────────┬──────────────────────┐
///     │ count  │ prefixLength │ reserved │ heapStart │ heapUsed │ prefix… │ heads … slots … cells│
///     └────────┴──────────────┴──────────┴───────────┴──────────┴─────────┴──────────────────────┘
///
/// The common prefix of all keys is padded to a multiple of eight bytes. Packed arrays follow the
/// prefix: the heads, the children (in branches only), and the slots. The slots contain the offsets
/// of the cells. A head is an abbreviated key: the first eight key bytes after the prefix, stored
/// as a number that sorts in the same order as the bytes. The cells grow down from the end of the
/// page.
package enum NodeLayout {
  package static let count = Field("count", at: 26, 2)
  package static let prefixLength = Field("prefixLength", at: 28, 2)
  package static let reserved = Field("reserved", at: 30, 2)
  package static let heapStart = Field("heapStart", at: 32, 4)
  package static let heapUsed = Field("heapUsed", at: 36, 4)
  package static let fields = [count, prefixLength, reserved, heapStart, heapUsed]

  /// The offset of the prefix, which follows the fixed-length fields.
  package static let prefixOffset = 40
  package static let headByteCount = 8
  package static let childByteCount = 4
  package static let slotByteCount = 2
  /// The size of an entry in the packed arrays of a leaf.
  package static let leafEntryByteCount = headByteCount + slotByteCount
  /// The size of an entry in the packed arrays of a branch.
  package static let branchEntryByteCount = headByteCount + childByteCount + slotByteCount
  /// The size of the length fields at the start of a leaf cell.
  package static let leafCellHeaderByteCount = 4
  /// The size of the length field at the start of a branch cell.
  package static let branchCellHeaderByteCount = 2
  /// The flag that is set in a cell's value length if the cell contains an overflow reference.
  package static let overflowFlag: UInt16 = 0x8000
  /// The maximum length of a suffix that a branch entry can store without a cell.
  ///
  /// In an entry without a cell, the head contains the suffix, and the slot contains the suffix's
  /// length instead of the offset of a cell.
  package static let maxCelllessSuffix = 8

  @inline(__always)
  package static func headsOffset(prefixLength: Int) -> Int {
    prefixOffset &+ ((prefixLength &+ 7) & ~7)
  }

  /// Returns the number of bytes in a page that are available for the prefix, arrays and cells.
  @inline(__always)
  package static func capacity(pageByteCount: Int) -> Int { pageByteCount &- prefixOffset }

  /// Returns whether a value is stored in the leaf itself rather than in overflow pages.
  ///
  /// Four entries with inline values always fit in a node, so every overfull node can be split.
  @inline(__always)
  package static func fitsInline(keyCount: Int, valueCount: Int, pageByteCount: Int) -> Bool {
    let cost =
      leafEntryByteCount + leafCellHeaderByteCount + max(0, keyCount - headByteCount) + valueCount
    return cost <= capacity(pageByteCount: pageByteCount) / 4
  }
}
