/// A scanner that reads the entries of several leaves of a tree in key order.
///
/// The scanner holds one leaf at a time.
///
/// - Important: The owner of the page view must outlive the scanner. Only one thread at a time may
///   use the scanner.
package final class LeafScanner {
  private let view: PageView
  package let tree: TreeID
  private let pages: [PageNumber]
  /// The index of the next leaf in `pages`.
  private var position = 0
  private let block: ByteBlock
  /// The memory for the current key.
  ///
  /// The memory always starts with the prefix of the current leaf.
  private let keyBytes: MutableBytes
  /// The memory for the last key of the previous leaf.
  private let otherBytes: MutableBytes
  private var keyCount = 0
  private var leaf: PageReference?
  private var node: NodeView
  private var slot = 0

  /// Creates a scanner positioned before the first entry of the given leaves.
  ///
  /// - Parameter pages: The page numbers of leaves of `tree`, in key order.
  package init(_ pages: [PageNumber], tree: TreeID, in view: PageView) {
    self.view = view
    self.tree = tree
    self.pages = pages
    let byteCount = SearchKey.maxByteCount
    block = ByteBlock(count: byteCount * 2 + NodeLayout.prefixOffset, alignment: 16)
    keyBytes = block.bytes.slice(0, byteCount)
    otherBytes = block.bytes.slice(byteCount, byteCount)
    // Use an empty node as a placeholder until a leaf is entered.
    node = NodeView(block.bytes.bytes.slice(byteCount * 2, NodeLayout.prefixOffset))
  }

  deinit { if let leaf { view.release(leaf) } }

  /// Moves to the next entry.
  ///
  /// - Returns: `false` if there is no next entry.
  /// - Throws: `io` if a leaf cannot be read, or `corrupt` if a leaf is corrupt or its keys do not
  ///   follow the keys of the previous leaf.
  package func moveToNext() throws(StorageError) -> Bool {
    slot += 1
    while slot >= node.count {
      guard position < pages.count else { return false }
      try enter(pages[position])
      position += 1
    }
    moveToSlot(slot)
    return true
  }

  /// The current key, which is valid until the scanner moves.
  package var key: Bytes { keyBytes.bytes.slice(0, keyCount) }

  /// The current value, or a reference to the value if it is large.
  ///
  /// The bytes are valid until the scanner moves.
  package var value: Bytes { node.value(slot) }

  /// A Boolean value that indicates whether the current value is a reference to a large value.
  package var isOverflow: Bool { node.isOverflow(slot) }

  /// Advances both scanners for as long as their next entries have identical cells.
  ///
  /// Afterwards, both scanners are at the last of these entries. Equal entries whose cells have
  /// different layouts are not skipped.
  ///
  /// - Complexity: Reads no page, because skipping stops when either scanner reaches the end of its
  ///   leaf.
  package func skipSame(as other: LeafScanner) {
    let (node, otherNode) = (node, other.node)
    guard node.prefix.equals(otherNode.prefix) else { return }
    let count = min(node.count - slot, otherNode.count - other.slot)
    var passed = 1
    while passed < count, node.hasSameEntry(slot + passed, as: otherNode, other.slot + passed) {
      passed += 1
    }
    guard passed > 1 else { return }
    moveToSlot(slot + passed - 1)
    other.moveToSlot(other.slot + passed - 1)
  }

  private func moveToSlot(_ slot: Int) {
    self.slot = slot
    keyCount = node.copySuffix(slot, to: keyBytes).count
  }

  private func enter(_ page: PageNumber) throws(StorageError) {
    let next = try view.node(page, tree: tree, level: 0)
    if let leaf { view.release(leaf) }
    leaf = next
    otherBytes.copy(key, to: 0)
    let last = otherBytes.bytes.slice(0, keyCount)
    node = NodeView(next.bytes)
    slot = 0
    guard node.count > 0 else { return }
    guard position == 0 || node.copyKey(0, to: keyBytes).compare(last) > 0 else {
      throw .corrupt(
        "The store is corrupt: the keys of two leaves are out of order. Restore a backup.",
        page: page)
    }
    keyBytes.copy(node.prefix, to: 0)
  }
}
