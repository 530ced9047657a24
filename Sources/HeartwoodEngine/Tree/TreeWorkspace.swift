/// The memory that a writer reuses to change a tree: a path, keys, and copies of pages.
///
/// Everything except the path is allocated on first use, because most changes need only the path.
final class TreeWorkspace {
  let path = TreePath()
  private var keys: ByteBlock?
  private var copies: ByteBlock?
  private var value: ByteBlock?

  /// The memory for the first of two keys that are used together.
  ///
  /// Each use overwrites the memory.
  var firstKey: MutableBytes { keyMemory(0, SearchKey.maxByteCount) }
  /// The memory for the second of two keys that are used together.
  ///
  /// Each use overwrites the memory.
  var secondKey: MutableBytes { keyMemory(1, SearchKey.maxByteCount) }
  /// The memory for the key that a split inserts into the level above.
  var separator: MutableBytes { keyMemory(2, SearchKey.maxByteCount) }
  /// The memory for an overflow reference that will be stored in a leaf.
  var reference: MutableBytes { keyMemory(3, OverflowLayout.referenceByteCount) }

  private func keyMemory(_ index: Int, _ byteCount: Int) -> MutableBytes {
    let block =
      keys
      ?? ByteBlock(
        count: SearchKey.maxByteCount * 3 + OverflowLayout.referenceByteCount, alignment: 16)
    keys = block
    return block.bytes.slice(index * SearchKey.maxByteCount, byteCount)
  }

  /// Returns a copy of a page.
  ///
  /// The copy is valid until the next copy with the same `index`, which is 0 or 1.
  func copy(_ page: Bytes, index: Int) -> NodeView {
    let block = copies ?? ByteBlock(count: page.count * 2, alignment: 16)
    copies = block
    let target = block.bytes.slice(index * page.count, page.count)
    target.copy(page, to: 0)
    return NodeView(target.bytes)
  }

  /// Returns a copy of a value that fits in a page.
  ///
  /// The copy is valid until the next value is copied.
  func copy(_ source: Bytes, pageByteCount: Int) -> Bytes {
    let block = value ?? ByteBlock(count: pageByteCount)
    value = block
    block.bytes.copy(source, to: 0)
    return block.bytes.bytes.slice(0, source.count)
  }
}
