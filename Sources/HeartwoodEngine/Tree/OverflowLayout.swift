/// The layout of a large value, which consists of overflow pages, index pages, and a reference in
/// the leaf.
///
/// The depth in the reference determines what the root page contains: all bytes of the value at
/// depth 0, an index of pages at depth 1, or an index of index pages at depth 2. Every page except
/// the last is full, so a range read can compute which pages it needs.
package enum OverflowLayout {
  package static let length = Field("length", at: 0, 8)
  package static let hash = Field("hash", at: 8, 8)
  package static let base = Field("base", at: 16, 8)
  package static let root = Field("root", at: 24, 4)
  package static let depth = Field("depth", at: 28, 1)
  package static let reserved = Field("reserved", at: 29, 3)
  package static let referenceFields = [length, hash, base, root, depth, reserved]
  package static let referenceByteCount = 32
  package static let maxDepth = 2

  /// The number of value bytes in an `overflow` page.
  ///
  /// The value bytes start at ``contentOffset``.
  package static let payloadCount = Field("payloadCount", at: 28, 4)
  package static let pageFields = [payloadCount]

  /// The number of page numbers in an `overflowIndex` page.
  ///
  /// The page numbers start at ``contentOffset``.
  package static let indexCount = Field("indexCount", at: 28, 4)
  package static let indexFields = [indexCount]
  package static let contentOffset = 32

  package static func payloadCapacity(pageByteCount: Int) -> Int { pageByteCount - contentOffset }

  package static func indexCapacity(pageByteCount: Int) -> Int {
    (pageByteCount - contentOffset) / 4
  }

  /// Returns the number of pages of a value, not counting index pages.
  package static func pageCount(length: Int, pageByteCount: Int) -> Int {
    let capacity = payloadCapacity(pageByteCount: pageByteCount)
    return (length + capacity - 1) / capacity
  }

  package static func depth(pageCount: Int, pageByteCount: Int) -> Int {
    if pageCount <= 1 { return 0 }
    return pageCount <= indexCapacity(pageByteCount: pageByteCount) ? 1 : 2
  }
}
