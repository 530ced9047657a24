// This extension grows a tree: it rebuilds and splits nodes, and adds a level at the root.
extension TreeWriter {
  /// Stores an entry that does not fit in the path's node at `level`.
  ///
  /// If a better prefix makes room, the method rebuilds the node. Otherwise, it splits the node. A
  /// split inserts an entry into the level above, where the method may then have to rebuild or
  /// split another node.
  ///
  /// - Parameter inserting: Whether to insert the entry. If `false`, `entry` replaces the entry at
  ///   `position`.
  func rewrite(
    _ entry: NodeEntry, at position: Int, level: Int, inserting: Bool
  ) throws(StorageError) {
    var entry = entry
    var position = position
    var level = level
    var inserting = inserting
    while true {
      let number = path.page(level)
      let page = try pages.writable(number)
      let node = workspace.copy(page.bytes, index: 0)
      let entries = NodeRebuild(node, entry, at: position, inserting: inserting, workspace)
      let keyOrder = NodeSearch.prefixOrder(node, entry.key)
      let all = 0..<entries.count
      if let prefixCount = entries.fittingPrefixCount(
        all, or: keyOrder == 0 ? node.prefixCount : nil, pageByteCount: pageByteCount)
      {
        entries.write(all, to: page, prefixCount: prefixCount)
        return
      }
      let edge = inserting ? edge(position, of: node, level: level) : .none
      guard
        let split = NodeSplit(entries, edge: edge, keyOrder: keyOrder, pageByteCount: pageByteCount)
      else {
        throw .corrupt(
          "The store is corrupt: a node cannot be split, because its entries are too large. "
            + "Restore a backup.",
          page: number)
      }
      let right = try divide(entries, split, level: level)
      guard level < path.top else { return }
      level += 1
      position = path.slot(level) + 1
      entry = NodeEntry(key: SearchKey(right.key), child: right.page)
      inserting = true
      if try insertInPlace(entry, at: position, level: level) { return }
    }
  }

  /// Adds a leaf after the last leaf, and stores `entry` in it.
  ///
  /// The entry must sort after all existing entries, and the path must end at the last leaf.
  func appendLeaf(_ entry: NodeEntry) throws(StorageError) {
    let right = try pages.allocate(.leaf, tree: root.tree, level: 0)
    let page = try pages.writable(right)
    let left = NodeView(try pages.writable(path.page(0)).bytes)
    let entries = NodeRebuild(left, entry, at: left.count, inserting: true, workspace)
    let own = left.count..<entries.count
    entries.write(own, to: page, prefixCount: entries.prefixCount(own))
    let separator = entries.separator(before: left.count)
    try insertChild(NodeEntry(key: separator, child: right), at: path.slot(1) + 1, level: 1)
  }

  /// Inserts a separator and its child into the branch at `level` in the path.
  func insertChild(_ entry: NodeEntry, at position: Int, level: Int) throws(StorageError) {
    if try insertInPlace(entry, at: position, level: level) { return }
    try rewrite(entry, at: position, level: level, inserting: true)
  }

  private func insertInPlace(
    _ entry: NodeEntry, at position: Int, level: Int
  ) throws(StorageError) -> Bool {
    let number = path.page(level)
    let page = try pages.writable(number)
    let node = NodeView(page.bytes)
    // Check that the new separator lies between its neighbours. A separator from a corrupt child
    // could be outside this range and break the order of the branch.
    guard isBetween(entry.key, node, position) else {
      throw .corrupt(
        "The store is corrupt: a child node contains keys that are not between its separators. "
          + "Restore a backup.",
        page: number)
    }
    return NodeEditor(page).insert(entry, at: position)
  }

  private func isBetween(_ key: SearchKey, _ node: NodeView, _ position: Int) -> Bool {
    if position > 1 {
      let before = node.copyKey(position - 1, to: workspace.firstKey)
      guard before.compare(key.bytes) < 0 else { return false }
    }
    guard position < node.count else { return true }
    return key.bytes.compare(node.copyKey(position, to: workspace.firstKey)) < 0
  }

  /// Returns the edge of the tree level at which `position` lies, or `none` if it lies elsewhere.
  private func edge(_ position: Int, of node: NodeView, level: Int) -> NodeSplit.Edge {
    let first = node.isLeaf ? 0 : 1
    if position == node.count {
      return isEdge(above: level, isLast: true) ? .last : .none
    }
    return position == first && isEdge(above: level, isLast: false) ? .first : .none
  }

  private func isEdge(above level: Int, isLast: Bool) -> Bool {
    guard level < path.top else { return true }
    for upper in level + 1...path.top {
      guard let node = try? view.page(path.page(upper)) else { return false }
      let slot = path.slot(upper)
      let isEdge = slot == (isLast ? NodeView(node.bytes).count - 1 : 0)
      view.release(node)
      guard isEdge else { return false }
    }
    return true
  }

  /// Writes the two nodes that result from a split, and returns the right node and its separator.
  ///
  /// If the split node was not the root, the caller must insert the returned node and separator
  /// into the level above.
  private func divide(
    _ entries: NodeRebuild, _ split: NodeSplit, level: Int
  ) throws(StorageError) -> (page: PageNumber, key: Bytes) {
    let isRoot = level == path.top
    guard !isRoot || level < Limits.maxTreeLevel else {
      throw .corrupt(
        "The store is corrupt: a tree has more levels than the limit allows. Restore a backup.",
        page: root.page)
    }
    let kind = level == 0 ? PageKind.leaf : .branch
    let left =
      isRoot
      ? try pages.allocate(kind, tree: root.tree, level: UInt8(level)) : path.page(level)
    let right = try pages.allocate(kind, tree: root.tree, level: UInt8(level))
    split.write(entries, to: try pages.writable(left), try pages.writable(right))
    let key = entries.separator(before: split.position)
    if isRoot { try growRoot(left, key, right, level: level + 1) }
    return (right, key.bytes)
  }

  /// Turns the root into a branch with two children.
  private func growRoot(
    _ left: PageNumber, _ key: SearchKey, _ right: PageNumber, level: Int
  ) throws(StorageError) {
    let page = try pages.writable(root.page)
    page.store8(PageKind.branch.rawValue, PageLayout.kind.offset)
    page.store8(UInt8(level), PageLayout.level.offset)
    NodeEditor(page).clear()
    // Write only the first child here. The rebuild below adds the second child.
    page.store16(1, NodeLayout.count.offset)
    page.clear(NodeLayout.prefixOffset, NodeLayout.branchEntryByteCount)
    page.store32(left, NodeLayout.prefixOffset + NodeLayout.headByteCount)
    let entries = NodeRebuild(
      workspace.copy(page.bytes, index: 0), NodeEntry(key: key, child: right), at: 1,
      inserting: true, workspace)
    entries.write(0..<2, to: page, prefixCount: entries.prefixCount(0..<2))
  }
}
