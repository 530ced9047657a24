// This extension removes a range of keys. Nodes that lie completely within the range are freed, and
// single entries are removed at both ends.
extension TreeWriter {
  /// Removes all keys in a range, and returns the number of removed keys.
  ///
  /// The range starts at `lower` and ends before `upper`. If a bound is `nil`, the range has no
  /// limit on that side.
  package func delete(
    from lower: SearchKey?, upTo upper: SearchKey?
  ) throws(StorageError) -> UInt64 {
    pages.recordChange()
    let count = try removeRange(root.page, level: try view.level(of: root), lower, upper)
    guard count > 0 else { return 0 }
    try rebalanceEdge(lower, isLast: false)
    try rebalanceEdge(upper, isLast: true)
    return count
  }

  /// Removes the empty leaves after a key, or all leaves but one if `key` is `nil`.
  ///
  /// - Precondition: The tree has no entries after `key`.
  func removeEmptyLeaves(after key: SearchKey?) throws(StorageError) {
    pages.recordChange()
    _ = try removeRange(root.page, level: try view.level(of: root), key, nil)
    try rebalanceEdge(key, isLast: true)
  }

  // The recursion ends even if the tree is corrupt, because `level` decreases with each call. Do
  // not keep the address of a node while a child is processed, because `makeRoom` may spill the
  // node's page and thereby invalidate the address.
  private func removeRange(
    _ number: PageNumber, level: Int, _ lower: SearchKey?, _ upper: SearchKey?
  ) throws(StorageError) -> UInt64 {
    if level == 0 { return try removeEntries(number, lower, upper) }
    let reference = try view.node(number, tree: root.tree, level: level)
    let node = NodeView(reference.bytes)
    let first = lower.map { NodeSearch.childSlot(node, $0) } ?? 0
    let last = upper.map { NodeSearch.childSlot(node, $0) } ?? node.count - 1
    view.release(reference)
    guard last > first else {
      return try removeRange(
        child(first, of: number, level: level), level: level - 1, lower, upper)
    }
    // Keep only the children that contain a bound, or one child if there is no bound. An empty
    // leaf must not remain, because entries could be appended to it that sort before its branch
    // entry.
    let keepsLast = upper != nil
    let keepsFirst = lower != nil || !keepsLast
    let lastChild = try child(last, of: number, level: level)
    let freed = (keepsFirst ? first + 1 : first)..<(keepsLast ? last : last + 1)
    var count: UInt64 = 0
    for slot in freed {
      count += try freeSubtree(child(slot, of: number, level: level), level: level - 1)
    }
    if !freed.isEmpty {
      let editor = NodeEditor(try pages.writable(number))
      // Entry 0 represents minus infinity, so it stays if its child is freed.
      if !keepsFirst { editor.setChild(first, to: lastChild) }
      for slot in (first + 1..<first + 1 + freed.count).reversed() { editor.remove(at: slot) }
    }
    if keepsLast {
      count += try removeRange(lastChild, level: level - 1, nil, upper)
      guard keepsFirst else { return count }
    }
    return count
      + (try removeRange(child(first, of: number, level: level), level: level - 1, lower, nil))
  }

  private func child(
    _ slot: Int, of number: PageNumber, level: Int
  ) throws(StorageError) -> PageNumber {
    let reference = try view.node(number, tree: root.tree, level: level)
    defer { view.release(reference) }
    return NodeView(reference.bytes).child(slot)
  }

  private func removeEntries(
    _ number: PageNumber, _ lower: SearchKey?, _ upper: SearchKey?
  ) throws(StorageError) -> UInt64 {
    let (slots, values) = try entries(of: number, lower, upper)
    guard !slots.isEmpty else { return 0 }
    let editor = NodeEditor(try pages.writable(number))
    for slot in slots.reversed() { editor.remove(at: slot) }
    for value in values { try free(value) }
    try pages.makeRoom()
    return UInt64(slots.count)
  }

  private func entries(
    of leaf: PageNumber, _ lower: SearchKey?, _ upper: SearchKey?
  ) throws(StorageError) -> (slots: Range<Int>, values: [OverflowReference]) {
    let reference = try view.node(leaf, tree: root.tree, level: 0)
    defer { view.release(reference) }
    let node = NodeView(reference.bytes)
    let first = lower.map { NodeSearch.leafSlot(node, $0).slot } ?? 0
    let end = upper.map { NodeSearch.leafSlot(node, $0).slot } ?? node.count
    var values: [OverflowReference] = []
    for slot in first..<max(first, end) {
      if let value = try overflow(of: node, slot) { values.append(value) }
    }
    return (first..<max(first, end), values)
  }

  /// Merges or balances the underfull nodes on the path to one end of a deleted range.
  ///
  /// The method works from the root downwards, so that each node has a neighbour below the same
  /// branch.
  private func rebalanceEdge(_ key: SearchKey?, isLast: Bool) throws(StorageError) {
    var level = Limits.maxTreeLevel + 1
    while level > 0 {
      let leaf: PageReference
      if let key {
        leaf = try path.descend(to: key, view, root)
      } else {
        leaf = try path.descend(toLast: isLast, view, root)
      }
      view.release(leaf)
      level = min(level, path.top) - 1
      if level >= 0 { try rebalance(from: level) }
    }
  }
}
