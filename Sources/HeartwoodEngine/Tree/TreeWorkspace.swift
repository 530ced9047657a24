/// Memory a writer needs while it changes a tree: a path, keys under construction, copies of pages.
///
/// Kept as long as the writer, so that a change that fits its leaf allocates nothing.
final class TreeWorkspace {
  private static let keyByteCount = (Limits.maxKeyByteCount + 8 + 15) & ~15

  let path: TreePath
  /// Two keys of a rebuild, valid until the next key is asked for.
  let firstKey: MutableBytes
  let secondKey: MutableBytes
  /// The key a split gives to the level above.
  let separator: MutableBytes
  /// An overflow reference on its way into a leaf.
  let reference: MutableBytes
  private let keys: ByteBlock
  private var copies: ByteBlock?

  init() {
    path = TreePath()
    keys = ByteBlock(
      count: Self.keyByteCount * 3 + OverflowLayout.referenceByteCount, alignment: 16)
    firstKey = keys.bytes.slice(0, Self.keyByteCount)
    secondKey = keys.bytes.slice(Self.keyByteCount, Self.keyByteCount)
    separator = keys.bytes.slice(2 * Self.keyByteCount, Self.keyByteCount)
    reference = keys.bytes.slice(3 * Self.keyByteCount, OverflowLayout.referenceByteCount)
  }

  /// A copy of a page, valid until the next one with the same `place`, which is 0 or 1.
  func copy(_ page: Bytes, place: Int) -> NodeView {
    let block = copies ?? ByteBlock(count: page.count * 2, alignment: 16)
    copies = block
    let target = block.bytes.slice(place * page.count, page.count)
    target.copy(page, to: 0)
    return NodeView(target.bytes)
  }
}
