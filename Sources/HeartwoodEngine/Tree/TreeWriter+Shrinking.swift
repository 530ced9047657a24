// This extension shrinks a tree: it merges and balances neighbours, and removes empty levels.
extension TreeWriter {
  /// Merges or balances underfull nodes on the path, from level `first` upwards.
  ///
  /// Afterwards, the method removes the root's level if the root has only one child.
  func rebalance(from first: Int) throws(StorageError) {
    var level = first
    while level < path.top {
      let node = try view.node(path.page(level), tree: root.tree, level: level)
      let isUnderfull =
        NodeView(node.bytes).usedByteCount < NodeLayout.capacity(pageByteCount: pageByteCount) / 3
      view.release(node)
      guard isUnderfull, try mergeOrBalance(level) else { break }
      level += 1
    }
    try collapseRoot()
  }

  /// Merges the node at `level` with a neighbour, or balances the two nodes.
  ///
  /// The result is `true` if the nodes were merged. In that case, the branch above has lost an
  /// entry.
  private func mergeOrBalance(_ level: Int) throws(StorageError) -> Bool {
    let parent = try view.node(path.page(level + 1), tree: root.tree, level: level + 1)
    let count = NodeView(parent.bytes).count
    view.release(parent)
    let slot = path.slot(level + 1)
    for right in slot...slot + 1 where right >= 1 && right < count {
      if try merge(before: right, level: level) { return true }
    }
    for right in slot...slot + 1 where right >= 1 && right < count {
      if try balance(before: right, level: level) { return false }
    }
    return false
  }

  /// Returns two adjacent children of the branch above `level`, at `slot` - 1 and `slot`, and a
  /// ``NodeMerge`` of their entries.
  private func neighbours(
    _ slot: Int, level: Int
  ) throws(StorageError) -> (left: PageNumber, right: PageNumber, merge: NodeMerge) {
    let parent = try view.node(path.page(level + 1), tree: root.tree, level: level + 1)
    let node = NodeView(parent.bytes)
    let leftNumber = node.child(slot - 1)
    let rightNumber = node.child(slot)
    let separator = SearchKey(node.copyKey(slot, to: workspace.separator))
    view.release(parent)
    let left = try view.node(leftNumber, tree: root.tree, level: level)
    let leftNode = workspace.copy(left.bytes, index: 0)
    view.release(left)
    let right = try view.node(rightNumber, tree: root.tree, level: level)
    let rightNode = workspace.copy(right.bytes, index: 1)
    view.release(right)
    let merge = NodeMerge(
      entries: NodeRebuild(leftNode, rightNode, separator: separator, workspace))
    guard leftNumber != rightNumber, merge.isOrdered() else {
      throw .corrupt(
        "The store is corrupt: the keys of two neighbouring nodes are out of order. Restore a "
          + "backup.", page: rightNumber)
    }
    return (leftNumber, rightNumber, merge)
  }

  private func merge(before slot: Int, level: Int) throws(StorageError) -> Bool {
    let (left, right, merge) = try neighbours(slot, level: level)
    guard let prefixCount = merge.mergedPrefixCount(pageByteCount: pageByteCount) else {
      return false
    }
    merge.entries.write(
      0..<merge.entries.count, to: try pages.writable(left), prefixCount: prefixCount)
    NodeEditor(try pages.writable(path.page(level + 1))).remove(at: slot)
    try pages.free(right)
    return true
  }

  private func balance(before slot: Int, level: Int) throws(StorageError) -> Bool {
    let (left, right, merge) = try neighbours(slot, level: level)
    guard let split = merge.balancedSplit(pageByteCount: pageByteCount) else { return false }
    let entries = merge.entries
    split.write(entries, to: try pages.writable(left), try pages.writable(right))
    let key = entries.separator(before: split.position)
    NodeEditor(try pages.writable(path.page(level + 1))).remove(at: slot)
    path.setSlot(slot - 1, level + 1)
    try insertChild(NodeEntry(key: key, child: right), at: slot, level: level + 1)
    return true
  }

  /// Replaces the root's contents with those of its only child, and repeats this until the root is
  /// a leaf or has several children.
  private func collapseRoot() throws(StorageError) {
    while true {
      let reference = try view.root(root)
      let node = NodeView(reference.bytes)
      let level = node.level
      let number = level > 0 && node.count == 1 ? node.child(0) : root.page
      view.release(reference)
      guard number != root.page else { return }
      let page = try pages.writable(root.page)
      let child = try view.node(number, tree: root.tree, level: level - 1)
      let start = PageLayout.kind.offset
      page.copy(child.bytes.slice(start, pageByteCount - start), to: start)
      view.release(child)
      try pages.free(number)
    }
  }
}
