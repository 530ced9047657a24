/// A writer that changes one tree within a write transaction.
///
/// The writer copies a page only when the page changes. A value that is passed to a method may be
/// in a page of the transaction, but a key must not, because the key's bytes could move during the
/// change.
package struct TreeWriter {
  package let pages: WorkingPages
  package let root: TreeRoot
  let workspace: TreeWorkspace

  package init(pages: WorkingPages, root: TreeRoot) {
    self.pages = pages
    self.root = root
    workspace = TreeWorkspace()
  }

  package static func create(_ pages: WorkingPages, tree: TreeID) throws(StorageError) -> TreeRoot {
    let number = try pages.allocate(.leaf, tree: tree, level: 0)
    NodeEditor(try pages.writable(number)).clear()
    return TreeRoot(tree: tree, page: number)
  }

  var view: PageView { pages.view }
  var pageByteCount: Int { pages.view.pageByteCount }
  var path: TreePath { workspace.path }

  /// Stores a value under a key, replacing any previous value, and returns whether the key is new.
  ///
  /// - Throws: `tooLarge` if the key or the value exceeds its limit.
  package func put(_ key: SearchKey, _ value: Bytes) throws(StorageError) -> Bool {
    try checkLimits(key, valueCount: value.count)
    let fitsInline = NodeLayout.fitsInline(
      keyCount: key.count, valueCount: value.count, pageByteCount: pageByteCount)
    if fitsInline { return try store(key, value, isOverflow: false) }
    var overflow = try OverflowWriter(pages: pages, tree: root.tree, length: value.count)
    try overflow.append(value)
    return try put(key, overflow.finish())
  }

  /// Stores a large value that is already in overflow pages, and returns whether the key is new.
  package func put(_ key: SearchKey, _ reference: OverflowReference) throws(StorageError) -> Bool {
    try checkLimits(key, valueCount: reference.length)
    reference.store(to: workspace.reference)
    return try store(key, workspace.reference.bytes, isOverflow: true)
  }

  /// Removes a key and its value, and returns whether the key existed.
  package func delete(_ key: SearchKey) throws(StorageError) -> Bool {
    let (slot, found, replaced) = try find(key)
    guard found else { return false }
    pages.recordChange()
    NodeEditor(try pages.writable(path.page(0))).remove(at: slot)
    if let replaced { try free(replaced) }
    try rebalance(from: 0)
    return true
  }

  /// Frees every page of the tree, including its root and its large values.
  package func removeAll() throws(StorageError) {
    pages.recordChange()
    _ = try freeSubtree(root.page, level: try view.level(of: root))
  }

  // MARK: Helpers

  func checkLimits(_ key: SearchKey, valueCount: Int) throws(StorageError) {
    guard key.count <= Limits.maxKeyByteCount else {
      throw StorageError(
        .tooLarge,
        "The key is \(key.count) bytes long, but the limit is \(Limits.maxKeyByteCount) bytes. Use "
          + "a shorter key.")
    }
    try Limits.requireValue(byteCount: valueCount)
  }

  /// Sets the path to the slot of a key, or to the slot where the key would be inserted.
  ///
  /// - Returns: The slot, whether the key exists, and the reference to its value if the value is
  ///   large.
  @inline(__always)
  private func find(
    _ key: SearchKey
  ) throws(StorageError) -> (slot: Int, found: Bool, largeValue: OverflowReference?) {
    let leaf = try path.descend(to: key, view, root)
    defer { view.release(leaf) }
    let node = NodeView(leaf.bytes)
    let (slot, found) = NodeSearch.leafSlot(node, key)
    path.setSlot(slot, 0)
    return (slot, found, try found ? overflow(of: node, slot) : nil)
  }

  private func store(
    _ key: SearchKey, _ value: Bytes, isOverflow: Bool
  ) throws(StorageError) -> Bool {
    let (slot, found, replaced) = try find(key)
    pages.recordChange()
    let page = try pages.writable(path.page(0))
    let value = unmoved(value, by: page)
    let editor = NodeEditor(page)
    let entry = NodeEntry(key: key, value: value, isOverflow: isOverflow)
    let isDone =
      found
      ? editor.replaceValue(at: slot, with: value, isOverflow: isOverflow)
      : editor.insert(entry, at: slot)
    if !isDone { try rewrite(entry, at: slot, level: 0, inserting: !found) }
    if let replaced { try free(replaced) }
    return !found
  }

  /// Returns `value`, or a copy of it, at an address that stays valid while `leaf` changes.
  ///
  /// The result is a copy if the value is in `leaf`, because the leaf's cells move during a change.
  /// Values in other pages do not move.
  @inline(__always)
  func unmoved(_ value: Bytes, by leaf: MutableBytes) -> Bytes {
    value.liesIn(leaf.bytes) ? workspace.copy(value, pageByteCount: pageByteCount) : value
  }

  func overflow(of node: NodeView, _ slot: Int) throws(StorageError) -> OverflowReference? {
    guard node.isOverflow(slot) else { return nil }
    return try OverflowReference(node.value(slot), in: view)
  }

  func free(_ reference: OverflowReference) throws(StorageError) {
    let pages = pages
    try Overflow(view: view, tree: root.tree).forEachPage(reference) {
      number throws(StorageError) in
      try pages.free(number)
    }
  }

  /// Returns the child or the large value that the entry at `index` refers to, or `nil` if there is
  /// no such entry.
  private func entry(
    _ index: Int, of number: PageNumber, level: Int
  ) throws(StorageError) -> (child: PageNumber, value: OverflowReference?)? {
    let reference = try view.node(number, tree: root.tree, level: level)
    defer { view.release(reference) }
    let node = NodeView(reference.bytes)
    guard index < node.count else { return nil }
    return level > 0 ? (node.child(index), nil) : (0, try overflow(of: node, index))
  }

  /// Frees all pages of a subtree, and returns the number of entries in the subtree.
  // The recursion ends even if the tree is corrupt, because `level` decreases with each call. Do
  // not keep the address of a node while a child is processed, because `makeRoom` may spill the
  // node's page and thereby invalidate the address.
  func freeSubtree(_ number: PageNumber, level: Int) throws(StorageError) -> UInt64 {
    var index = 0
    var count: UInt64 = 0
    while let (child, value) = try entry(index, of: number, level: level) {
      if level > 0 {
        count += try freeSubtree(child, level: level - 1)
      } else if let value {
        try free(value)
        try pages.makeRoom()
      }
      index += 1
    }
    try pages.free(number)
    try pages.makeRoom()
    return level == 0 ? UInt64(index) : count
  }
}
