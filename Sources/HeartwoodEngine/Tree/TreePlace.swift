/// Where a key is or would be in a tree, and about which part of all entries lies before it.
///
/// The part is worked out from the nodes on the way alone, as if every subtree of a node held as
/// many entries as the others: it errs where nodes are filled differently, by the fill of one leaf
/// at each level at most, and never leaves 0 ... 1.
package struct TreePlace {
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

  /// About how many of `count` entries lie from here to another place: exactly, if that is in the
  /// same leaf.
  package func distance(to end: TreePlace, of count: Int) -> Int {
    if leaf == end.leaf { return max(0, end.slot - slot) }
    return Int((max(0, end.share - share) * Double(count)).rounded())
  }
}
