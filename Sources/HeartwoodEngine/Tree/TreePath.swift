/// The pages and slots on the path from the root of a tree to a leaf.
///
/// At level 0, the slot refers to an entry. At higher levels, the slot refers to the child on the
/// path.
final class TreePath {
  private let block: ByteBlock
  private let steps: MutableBytes
  /// The level of the root.
  var top = 0

  init() {
    block = ByteBlock(count: (Limits.maxTreeLevel + 1) * 8, alignment: 16)
    steps = block.bytes
  }

  @inline(__always)
  func page(_ level: Int) -> PageNumber { steps.bytes.load32(level &* 8) }

  @inline(__always)
  func slot(_ level: Int) -> Int { Int(steps.bytes.load32(level &* 8 &+ 4)) }

  @inline(__always)
  func setPage(_ page: PageNumber, _ level: Int) { steps.store32(page, level &* 8) }

  @inline(__always)
  func setSlot(_ slot: Int, _ level: Int) {
    steps.store32(UInt32(truncatingIfNeeded: slot), level &* 8 &+ 4)
  }

  /// Descends from the root to the leaf that covers `key`, and returns the leaf.
  ///
  /// The caller must set the slot at level 0 and release the leaf.
  func descend(
    to key: SearchKey, _ view: PageView, _ root: TreeRoot
  ) throws(StorageError) -> PageReference {
    var reference = try view.root(root)
    var number = root.page
    var node = NodeView(reference.bytes)
    var level = node.level
    top = level
    while level > 0 {
      let slot = NodeSearch.childSlot(node, key)
      setPage(number, level)
      setSlot(slot, level)
      number = node.child(slot)
      view.release(reference)
      level &-= 1
      reference = try view.node(number, tree: root.tree, level: level)
      node = NodeView(reference.bytes)
    }
    setPage(number, 0)
    return reference
  }

  /// Descends from the root to the first or the last leaf.
  ///
  /// The caller must release the leaf.
  func descend(
    toLast: Bool, _ view: PageView, _ root: TreeRoot
  ) throws(StorageError) -> PageReference {
    let reference = try view.root(root)
    top = NodeView(reference.bytes).level
    setPage(root.page, top)
    return try descend(toLast: toLast, from: reference, level: top, view, root)
  }

  /// Descends from the path's node at `level` to the first or the last leaf below that node.
  ///
  /// The method releases `reference`, which is the node's page. The caller must release the leaf.
  func descend(
    toLast: Bool, from reference: PageReference, level: Int, _ view: PageView, _ root: TreeRoot
  ) throws(StorageError) -> PageReference {
    var reference = reference
    var level = level
    while level > 0 {
      let node = NodeView(reference.bytes)
      let slot = toLast ? node.count &- 1 : 0
      let number = node.child(slot)
      setSlot(slot, level)
      view.release(reference)
      level &-= 1
      reference = try view.node(number, tree: root.tree, level: level)
      setPage(number, level)
    }
    return reference
  }

  /// Moves to the next or the previous leaf and returns it, or returns `nil` if there is no such
  /// leaf.
  ///
  /// The caller must release the leaf.
  func step(
    forward: Bool, _ view: PageView, _ root: TreeRoot
  ) throws(StorageError) -> PageReference? {
    var level = 1
    while level <= top {
      let reference = try view.node(page(level), tree: root.tree, level: level)
      let node = NodeView(reference.bytes)
      let slot = slot(level) &+ (forward ? 1 : -1)
      if slot >= 0, slot < node.count {
        let number = node.child(slot)
        setSlot(slot, level)
        view.release(reference)
        level &-= 1
        let next = try view.node(number, tree: root.tree, level: level)
        setPage(number, level)
        return try descend(toLast: !forward, from: next, level: level, view, root)
      }
      view.release(reference)
      level &+= 1
    }
    return nil
  }
}
