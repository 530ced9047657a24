/// A helper that moves tree pages to lower page numbers, so that the last pages of the store become
/// free.
///
/// Only ``moveRoot(_:)`` moves a root, because the reference to a root is outside the tree.
package struct PageMover {
  package let pages: WorkingPages
  /// The lowest page number to vacate.
  ///
  /// Pages with this number or a higher number are moved to free pages with lower numbers.
  package let limit: PageNumber
  /// The number of pages that may still be moved or read, or 0 if no page before the limit is free.
  package private(set) var budget: Int
  package private(set) var movedCount = 0
  private let path = TreePath()
  private let key = ByteBlock(count: Limits.maxKeyByteCount + 8, alignment: 16)

  package init(pages: WorkingPages, limit: PageNumber, budget: Int) {
    self.pages = pages
    self.limit = limit
    self.budget = budget
  }

  private var view: PageView { pages.view }

  /// Counts a page that has been read against the budget.
  package mutating func look() { budget = max(budget - 1, 0) }

  // MARK: Nodes

  /// Moves a node other than the root, and updates its parent's reference to the node.
  ///
  /// - Throws: `corrupt` if the node cannot be reached from the root of its tree.
  /// - Complexity: Two descents.
  package mutating func moveNode(_ number: PageNumber, of root: TreeRoot) throws(StorageError) {
    let start = try view.page(number)
    let level = Int(start.bytes.load8(PageLayout.level.offset))
    let leaf = try path.descend(toLast: false, from: start, level: level, view, root)
    let node = NodeView(leaf.bytes)
    let hasKey = node.count > 0
    let first = SearchKey(hasKey ? node.copyKey(0, to: key.bytes) : key.bytes.bytes.slice(0, 0))
    view.release(leaf)
    view.release(try path.descend(to: first, view, root))
    guard hasKey, level < path.top, path.page(level) == number else {
      throw .corrupt(
        "The store is corrupt: a page is in use, but no other page of its tree refers to it. "
          + "Restore a backup.",
        page: number)
    }
    guard let moved = try move(number, level == 0 ? .leaf : .branch, root.tree, level: level)
    else { return }
    NodeEditor(try pages.writable(path.page(level + 1))).setChild(path.slot(level + 1), to: moved)
  }

  /// Moves the root of a tree to a lower-numbered page.
  ///
  /// The caller must update the reference to the root.
  ///
  /// - Returns: The new root, or `nil` if no lower-numbered page is free.
  package mutating func moveRoot(_ root: TreeRoot) throws(StorageError) -> TreeRoot? {
    let level = try view.level(of: root)
    let kind = level == 0 ? PageKind.leaf : .branch
    return try move(root.page, kind, root.tree, level: level).map {
      TreeRoot(tree: root.tree, page: $0)
    }
  }

  // MARK: Large values

  /// Moves pages of a tree's large values, starting at the leaf that covers `first`.
  ///
  /// - Returns: The key from which another transaction can continue, or `nil` at the end of the
  ///   tree.
  /// - Complexity: One page read for each leaf and for each index page of a value.
  package mutating func moveValues(
    of root: TreeRoot, from first: [UInt8]
  ) throws(StorageError) -> [UInt8]? {
    first.withBytes { key.bytes.copy($0, to: 0) }
    key.bytes.store64(0, first.count)
    let start = SearchKey(key.bytes.bytes.slice(0, first.count))
    var next: PageReference? = try path.descend(to: start, view, root)
    while let leaf = next {
      let node = NodeView(leaf.bytes)
      let resume = node.count > 0 ? node.copyKey(0, to: key.bytes).copied() : []
      view.release(leaf)
      guard budget > 0 else { return resume }
      look()
      guard try moveValues(in: path.page(0), root.tree) else { return resume }
      next = try path.step(forward: true, view, root)
    }
    return nil
  }

  /// Moves pages of the large values that a leaf refers to.
  ///
  /// - Returns: Whether the budget was sufficient.
  private mutating func moveValues(
    in leaf: PageNumber, _ tree: TreeID
  ) throws(StorageError) -> Bool {
    var slot = 0
    while let (found, value) = try value(in: leaf, tree, from: slot) {
      if value.depth > 0 { try movePages(below: value.root, tree, level: value.depth) }
      if value.root >= limit, budget > 0 {
        let kind = value.depth == 0 ? PageKind.overflow : .overflowIndex
        if let moved = try move(value.root, kind, tree, level: value.depth) {
          NodeEditor(try pages.writable(leaf)).setOverflowRoot(found, to: moved)
        }
      }
      guard budget > 0 else { return false }
      slot = found + 1
    }
    return true
  }

  /// Returns the first large value of a leaf at or after `slot`, or `nil` if there is none.
  ///
  /// Each call reads the leaf again, because moving a value changes the leaf.
  private func value(
    in leaf: PageNumber, _ tree: TreeID, from slot: Int
  ) throws(StorageError) -> (slot: Int, value: OverflowReference)? {
    let reference = try view.node(leaf, tree: tree, level: 0)
    defer { view.release(reference) }
    let node = NodeView(reference.bytes)
    guard slot < node.count, let found = (slot..<node.count).first(where: { node.isOverflow($0) })
    else { return nil }
    return (found, try OverflowReference(node.value(found), in: view))
  }

  // The recursion is at most two levels deep, because an overflow index has at most two levels.
  private mutating func movePages(
    below index: PageNumber, _ tree: TreeID, level: Int
  ) throws(StorageError) {
    var position = 0
    while budget > 0, let child = try entry(position, of: index, tree, level: level) {
      if level > 1 { try movePages(below: child, tree, level: level - 1) }
      if child >= limit, budget > 0 {
        let kind = level > 1 ? PageKind.overflowIndex : .overflow
        if let moved = try move(child, kind, tree, level: level - 1) {
          let offset = OverflowLayout.contentOffset + position * 4
          try pages.writable(index).store32(moved, offset)
        }
      }
      position += 1
    }
  }

  /// Returns the page number at `position` in an index page, or `nil` if `position` is past the
  /// last page number.
  private func entry(
    _ position: Int, of index: PageNumber, _ tree: TreeID, level: Int
  ) throws(StorageError) -> PageNumber? {
    let reference = try view.page(index, .overflowIndex, tree: tree, level: level)
    defer { view.release(reference) }
    guard position < Int(reference.bytes.load32(OverflowLayout.indexCount.offset)) else {
      return nil
    }
    return reference.bytes.load32(OverflowLayout.contentOffset + position * 4)
  }

  // MARK: Pages

  /// Moves the contents of a page to the first free page, and returns the new page number.
  ///
  /// If no page before the limit is free, the method returns `nil` and sets the budget to 0.
  private mutating func move(
    _ number: PageNumber, _ kind: PageKind, _ tree: TreeID, level: Int
  ) throws(StorageError) -> PageNumber? {
    let target = try pages.allocate(kind, tree: tree, level: UInt8(level))
    guard target < limit else {
      try pages.free(target)
      budget = 0
      return nil
    }
    let source = try view.page(number, kind, tree: tree, level: level)
    let start = PageLayout.kind.offset
    do throws(StorageError) {
      try pages.writable(target).copy(
        source.bytes.slice(start, source.bytes.count - start), to: start)
    } catch {
      view.release(source)
      throw error
    }
    view.release(source)
    try pages.free(number)
    pages.recordChange()
    movedCount += 1
    look()
    return target
  }
}
