/// The position of a key in a tree, whether present or not, and an estimate of the share of all
/// entries before it.
///
/// The share is computed only from the nodes on the path, as if every subtree of a node had the
/// same number of entries. Where nodes differ in their fill, it is off by at most the fill of one
/// leaf at each level, and it is always within 0 ... 1.
package struct KeyPosition {
  private let leaf: PageNumber
  private let slot: Int
  private let share: Double

  package init(of key: SearchKey, _ view: PageView, _ root: TreeRoot) throws(StorageError) {
    var reference = try view.root(root)
    var number = root.page
    var node = NodeView(reference.bytes)
    var level = node.level
    var (share, width) = (0.0, 1.0)
    while level > 0 {
      let slot = NodeSearch.childSlot(node, key)
      width /= Double(node.count)
      share += Double(slot) * width
      number = node.child(slot)
      view.release(reference)
      level &-= 1
      reference = try view.node(number, tree: root.tree, level: level)
      node = NodeView(reference.bytes)
    }
    leaf = number
    slot = NodeSearch.leafSlot(node, key).slot
    self.share = node.count == 0 ? share : share + width * Double(slot) / Double(node.count)
    view.release(reference)
  }

  /// Returns an estimate of the number of the `count` entries from here to another position; exact
  /// if that is in the same leaf.
  package func distance(to end: KeyPosition, of count: Int) -> Int {
    if leaf == end.leaf { return max(0, end.slot - slot) }
    return Int((max(0, end.share - share) * Double(count)).rounded())
  }
}
