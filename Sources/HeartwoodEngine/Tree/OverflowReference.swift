/// A reference that a leaf cell contains in place of a large value.
package struct OverflowReference: Equatable {
  package let length: Int
  package let hash: UInt64
  /// The first frame of the transaction that wrote the value.
  package let base: FrameNumber
  package let root: PageNumber
  package let depth: Int

  package init(length: Int, hash: UInt64, base: FrameNumber, root: PageNumber, depth: Int) {
    self.length = length
    self.hash = hash
    self.base = base
    self.root = root
    self.depth = depth
  }

  /// Creates a reference from the bytes in a leaf cell.
  ///
  /// - Throws: `corrupt` if the length is invalid, too large for the store, or wrong for the depth.
  package init(_ cell: Bytes, in view: PageView) throws(StorageError) {
    root = cell.load32(OverflowLayout.root.offset)
    let length = cell.load64(OverflowLayout.length.offset)
    guard length > 0, length <= UInt64(Limits.maxValueByteCount) else {
      throw .corrupt(
        "The store is corrupt: a large value has an invalid length. Restore a backup.", page: root)
    }
    self.length = Int(length)
    hash = cell.load64(OverflowLayout.hash.offset)
    base = cell.load64(OverflowLayout.base.offset)
    depth = Int(cell.load8(OverflowLayout.depth.offset))
    let count = OverflowLayout.pageCount(length: self.length, pageByteCount: view.pageByteCount)
    guard count <= Int(view.pageCount) else {
      throw .corrupt(
        "The store is corrupt: a large value has more pages than the entire store. Restore a "
          + "backup.", page: root)
    }
    guard depth == OverflowLayout.depth(pageCount: count, pageByteCount: view.pageByteCount) else {
      throw .corrupt(
        "The store is corrupt: a large value has an index depth that does not match its length. "
          + "Restore a backup.",
        page: root)
    }
  }

  package func store(to target: MutableBytes) {
    target.clear(0, OverflowLayout.referenceByteCount)
    target.store64(UInt64(length), OverflowLayout.length.offset)
    target.store64(hash, OverflowLayout.hash.offset)
    target.store64(base, OverflowLayout.base.offset)
    target.store32(root, OverflowLayout.root.offset)
    target.store8(UInt8(depth), OverflowLayout.depth.offset)
  }
}
