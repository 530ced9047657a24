/// A builder that bulk-loads a tree in key order, without searching for each key.
package struct TreeBuilder {
  private let writer: TreeWriter
  private let block = ByteBlock(count: SearchKey.maxByteCount, alignment: 16)
  // Keep `view` and `lastKey` here, although `writer` and `block` also provide them, so that
  // appending an entry does not retain another object.
  private let view: PageView
  private let lastKey: MutableBytes
  private var lastCount = -1
  /// The view's `changeCount` after the last append.
  ///
  /// If the count has not changed since then, the tree has not changed either.
  private var changeCount = -1
  /// The rightmost leaf.
  ///
  /// The leaf's address is valid while `moveCount` equals the pages' `moveCount`. The first append
  /// sets `leaf` and `moveCount`, so a bulk load without entries changes no page.
  private var leaf: NodeEditor
  private var moveCount = -1

  /// Creates a builder for an empty tree.
  ///
  /// - Throws: `invalidArgument` if the tree has entries.
  package init(pages: WorkingPages, root: TreeRoot) throws(StorageError) {
    try self.init(continuing: root, pages: pages)
    guard lastCount < 0 else {
      throw StorageError(
        .invalidArgument, "Only an empty tree can be bulk-loaded. Append to this tree instead.")
    }
  }

  /// Creates a builder that appends entries after the last entry of a tree.
  ///
  /// The tree may be empty.
  package init(continuing root: TreeRoot, pages: WorkingPages) throws(StorageError) {
    writer = TreeWriter(pages: pages, root: root)
    view = pages.view
    lastKey = block.bytes
    leaf = NodeEditor(block.bytes)
    let last = try writer.path.descend(toLast: true, view, root)
    let node = NodeView(last.bytes)
    if node.count > 0 { lastCount = node.copyKey(node.count - 1, to: lastKey).count }
    view.release(last)
    if lastCount < 0, writer.path.top > 0 { try removeEmptyLeaves() }
  }

  /// Removes the empty leaves that a range deletion by an earlier version has left at the end of
  /// the tree.
  ///
  /// Otherwise, appended entries could sort before the branch entry of such a leaf, so that
  /// searches would not find them.
  private mutating func removeEmptyLeaves() throws(StorageError) {
    let cursor = TreeCursor(view: view, root: writer.root)
    guard try cursor.moveToLast() else { return try writer.removeEmptyLeaves(after: nil) }
    lastCount = cursor.key.count
    lastKey.copy(cursor.key, to: 0)
    cursor.releaseLeaf()
    // The least key that sorts after the last key.
    lastKey.clear(lastCount, SearchKey.maxByteCount - lastCount)
    try writer.removeEmptyLeaves(after: SearchKey(lastKey.bytes.slice(0, lastCount + 1)))
  }

  /// Appends an entry in place if it fits in the last leaf and nothing else has changed the tree.
  ///
  /// Otherwise, the method returns `false`, and the caller must use ``append(key:value:)``.
  @inline(__always)
  package mutating func appendInPlace(key: SearchKey, value: Bytes) -> Bool {
    guard view.changeCount == changeCount, key.count <= Limits.maxKeyByteCount,
      NodeLayout.fitsInline(
        keyCount: key.count, valueCount: value.count, pageByteCount: view.pageByteCount),
      lastKey.bytes.slice(0, lastCount).compare(key.bytes) < 0,
      leaf.insert(NodeEntry(key: key, value: value, isOverflow: false), at: leaf.node.count)
    else { return false }
    view.recordChange()
    recordLast(key)
    return true
  }

  /// Appends an entry.
  ///
  /// - Throws: `invalidArgument` if the key does not sort after all earlier keys, or `tooLarge` if
  ///   the key or the value exceeds its limit.
  package mutating func append(key: SearchKey, value: Bytes) throws(StorageError) {
    try check(key, valueCount: value.count)
    let pages = writer.pages
    pages.recordChange()
    let fitsInline = NodeLayout.fitsInline(
      keyCount: key.count, valueCount: value.count, pageByteCount: writer.pageByteCount)
    if fitsInline {
      try insert(key, value, isOverflow: false)
    } else {
      var overflow = try OverflowWriter(pages: pages, tree: writer.root.tree, length: value.count)
      try overflow.append(value)
      let reference = writer.workspace.reference
      try overflow.finish().store(to: reference)
      try insert(key, reference.bytes, isOverflow: true)
    }
    recordLast(key)
  }

  /// Appends an entry whose value is already in overflow pages.
  ///
  /// This method throws the same errors as ``append(key:value:)``.
  package mutating func append(key: SearchKey, reference: OverflowReference) throws(StorageError) {
    try check(key, valueCount: reference.length)
    writer.pages.recordChange()
    let bytes = writer.workspace.reference
    reference.store(to: bytes)
    try insert(key, bytes.bytes, isOverflow: true)
    recordLast(key)
  }

  private func check(_ key: SearchKey, valueCount: Int) throws(StorageError) {
    try writer.checkLimits(key, valueCount: valueCount)
    guard lastCount < 0 || lastKey.bytes.slice(0, lastCount).compare(key.bytes) < 0 else {
      throw StorageError(
        .invalidArgument,
        "The appended key does not sort after the last key. Append keys in ascending order.")
    }
  }

  @inline(__always)
  private mutating func recordLast(_ key: SearchKey) {
    lastKey.copy(key.bytes, to: 0)
    lastCount = key.count
    changeCount = view.changeCount
  }

  /// Ends the bulk load, and merges or balances underfull nodes at the right edge.
  package func finish() throws(StorageError) {
    writer.pages.recordChange()
    var level = 0
    while true {
      writer.view.release(try writer.path.descend(toLast: true, writer.view, writer.root))
      guard level < writer.path.top else { return }
      try writer.rebalance(from: level)
      level += 1
    }
  }

  private mutating func insert(
    _ key: SearchKey, _ value: Bytes, isOverflow: Bool
  ) throws(StorageError) {
    if moveCount != writer.pages.moveCount { try findLeaf() }
    let entry = NodeEntry(
      key: key, value: writer.unmoved(value, by: leaf.page), isOverflow: isOverflow)
    let slot = leaf.node.count
    if leaf.insert(entry, at: slot) { return }
    writer.view.release(try writer.path.descend(toLast: true, writer.view, writer.root))
    writer.path.setSlot(slot, 0)
    let isFull = slot > 0 && NodeSearch.prefixOrder(leaf.node, entry.key) == 0
    if isFull, writer.path.top > 0 {
      // Leave the full leaf unchanged and start a new one, because compacting the leaf would not
      // make room for the entry.
      try writer.appendLeaf(entry)
    } else {
      try writer.rewrite(entry, at: slot, level: 0, inserting: true)
    }
    try findLeaf()
  }

  private mutating func findLeaf() throws(StorageError) {
    writer.view.release(try writer.path.descend(toLast: true, writer.view, writer.root))
    leaf = NodeEditor(try writer.pages.writable(writer.path.page(0)))
    moveCount = writer.pages.moveCount
  }
}
