/// Changes one tree within a write transaction.
///
/// Only pages that change become writable. A value argument may be in a page of the transaction; a
/// key must not, since those bytes move.
package struct TreeWriter {
  package let pages: WorkingPages
  package let root: TreeRoot
  let workspace: TreeWorkspace

  package init(pages: WorkingPages, root: TreeRoot) {
    self.pages = pages
    self.root = root
    workspace = TreeWorkspace()
  }

  /// Creates an empty tree.
  package static func create(
    _ pages: WorkingPages, tree: TreeID
  ) throws(StorageError) -> TreeRoot {
    let number = try pages.allocate(.leaf, tree: tree, level: 0)
    NodeEditor(try pages.writable(number)).clear()
    return TreeRoot(tree: tree, page: number)
  }

  var view: PageView { pages.view }
  var pageSize: Int { pages.view.pageSize }
  var path: TreePath { workspace.path }

  /// Stores a value under a key, replacing any previous value.
  ///
  /// - Returns: whether the key is new.
  /// - Throws: `tooLarge` if key or value exceeds its limit.
  package func put(_ key: SearchKey, _ value: Bytes) throws(StorageError) -> Bool {
    try checkLimits(key, valueCount: value.count)
    let fitsInline = NodeLayout.fitsInline(
      keyCount: key.count, valueCount: value.count, pageSize: pageSize)
    if fitsInline { return try store(key, value, isOverflow: false) }
    var overflow = try OverflowWriter(pages: pages, tree: root.tree, length: value.count)
    try overflow.append(value)
    return try put(key, overflow.finish())
  }

  /// Stores a large value, already written to overflow pages of this tree, under a key.
  ///
  /// - Returns: whether the key is new.
  package func put(
    _ key: SearchKey, _ reference: OverflowReference
  ) throws(StorageError) -> Bool {
    try checkLimits(key, valueCount: reference.length)
    reference.store(to: workspace.reference)
    return try store(key, workspace.reference.bytes, isOverflow: true)
  }

  /// Removes a key and its value.
  ///
  /// - Returns: whether the key was there.
  package func delete(_ key: SearchKey) throws(StorageError) -> Bool {
    let leaf = try path.descend(to: key, view, root)
    let node = NodeView(leaf.bytes)
    let (slot, found) = NodeSearch.leafSlot(node, key)
    let replaced: OverflowReference?
    do throws(StorageError) {
      replaced = try found ? overflow(of: node, slot) : nil
    } catch {
      view.release(leaf)
      throw error
    }
    view.release(leaf)
    guard found else { return false }
    path.setSlot(slot, 0)
    pages.noteChange()
    NodeEditor(try pages.writable(path.page(0))).remove(at: slot)
    if let replaced { try free(replaced) }
    try settle(from: 0)
    return true
  }

  /// Frees every page of the tree, including its root and its large values.
  package func removeAll() throws(StorageError) {
    pages.noteChange()
    let reference = try view.root(root)
    let level = NodeView(reference.bytes).level
    view.release(reference)
    _ = try freeSubtree(root.page, level: level)
  }

  // MARK: Parts

  func checkLimits(_ key: SearchKey, valueCount: Int) throws(StorageError) {
    guard key.count <= Limits.maxKeyByteCount else {
      throw StorageError(
        .tooLarge, "The key has \(key.count) bytes; the limit is \(Limits.maxKeyByteCount).")
    }
    guard valueCount <= Limits.maxValueByteCount else {
      throw StorageError(
        .tooLarge, "The value has \(valueCount) bytes; the limit is \(Limits.maxValueByteCount).")
    }
  }

  private func store(
    _ key: SearchKey, _ value: Bytes, isOverflow: Bool
  ) throws(StorageError) -> Bool {
    let leaf = try path.descend(to: key, view, root)
    let node = NodeView(leaf.bytes)
    let (slot, found) = NodeSearch.leafSlot(node, key)
    let replaced: OverflowReference?
    do throws(StorageError) {
      replaced = try found ? overflow(of: node, slot) : nil
    } catch {
      view.release(leaf)
      throw error
    }
    view.release(leaf)
    path.setSlot(slot, 0)
    pages.noteChange()
    let page = try pages.writable(path.page(0))
    // The cells of this leaf move while it changes; no other page does.
    let value = value.liesIn(page.bytes) ? workspace.copy(value, pageSize: pageSize) : value
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

  func overflow(
    of node: NodeView, _ slot: Int
  ) throws(StorageError) -> OverflowReference? {
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

  // Recursion over at most the levels of a tree: every child is one level below its parent. No node
  // is held across a child, because making room moves pages.
  //
  // Returns the number of entries it had.
  func freeSubtree(_ number: PageNumber, level: Int) throws(StorageError) -> UInt64 {
    var index = 0
    var count: UInt64 = 0
    while true {
      let reference = try view.node(number, tree: root.tree, level: level)
      let node = NodeView(reference.bytes)
      guard index < node.count else {
        view.release(reference)
        break
      }
      if level > 0 {
        let child = node.child(index)
        view.release(reference)
        count += try freeSubtree(child, level: level - 1)
      } else {
        let value: OverflowReference?
        do throws(StorageError) {
          value = try overflow(of: node, index)
        } catch {
          view.release(reference)
          throw error
        }
        view.release(reference)
        if let value {
          try free(value)
          try pages.makeRoom()
        }
      }
      index += 1
    }
    try pages.free(number)
    try pages.makeRoom()
    return level == 0 ? UInt64(index) : count
  }
}
