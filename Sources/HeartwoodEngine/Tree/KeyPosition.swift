/// The position of a key in a tree, with the estimated fraction of entries that precede the key.
///
/// The fraction, from 0 to 1, is computed only from the nodes between the root and the leaf. The
/// estimate assumes that all subtrees of a node have the same number of entries.
package struct KeyPosition {
  private let leaf: PageNumber
  private let slot: Int
  private let share: Double
  /// The number of entries at or after the position, or `nil` if the position is not in the last
  /// leaf.
  package let countToEnd: Int?

  package init(of key: SearchKey, _ view: PageView, _ root: TreeRoot) throws(StorageError) {
    var reference = try view.root(root)
    var number = root.page
    var node = NodeView(reference.bytes)
    var level = node.level
    var (share, width) = (0.0, 1.0)
    var isLast = true
    while level > 0 {
      let slot = NodeSearch.childSlot(node, key)
      width /= Double(node.count)
      share += Double(slot) * width
      isLast = isLast && slot == node.count &- 1
      number = node.child(slot)
      view.release(reference)
      level &-= 1
      reference = try view.node(number, tree: root.tree, level: level)
      node = NodeView(reference.bytes)
    }
    leaf = number
    slot = NodeSearch.leafSlot(node, key).slot
    countToEnd = isLast ? node.count - slot : nil
    self.share = node.count == 0 ? share : share + width * Double(slot) / Double(node.count)
    view.release(reference)
  }

  /// Estimates the number of entries between this position and `end`.
  ///
  /// `count` is the number of entries in the tree. The estimate is exact if both positions are in
  /// the same leaf.
  package func distance(to end: KeyPosition, of count: Int) -> Int {
    if leaf == end.leaf { return max(0, end.slot - slot) }
    return Int((max(0, end.share - share) * Double(count)).rounded())
  }
}
