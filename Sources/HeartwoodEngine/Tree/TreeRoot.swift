/// A tree and its root page.
///
/// Only ``PageMover`` changes the number of the root page.
package struct TreeRoot: Hashable, Sendable {
  package let tree: TreeID
  package let page: PageNumber

  package init(tree: TreeID, page: PageNumber) {
    self.tree = tree
    self.page = page
  }
}

extension PageView {
  /// Returns the root page of a tree.
  ///
  /// The caller must release the page.
  @inline(__always)
  package func root(_ root: TreeRoot) throws(StorageError) -> PageReference {
    let reference = try page(root.page)
    let kind = reference.bytes.load8(PageLayout.kind.offset)
    guard kind == PageKind.leaf.rawValue || kind == PageKind.branch.rawValue,
      reference.bytes.load32(PageLayout.tree.offset) == root.tree
    else {
      release(reference)
      throw Self.foreignPage(root.page)
    }
    return reference
  }

  package func level(of root: TreeRoot) throws(StorageError) -> Int {
    let reference = try self.root(root)
    defer { release(reference) }
    return NodeView(reference.bytes).level
  }

  /// Returns a node after checking its tree and level.
  ///
  /// The caller must release the node. The check ensures that each child is exactly one level below
  /// its parent. Otherwise, a descent could loop forever.
  @inline(__always)
  package func node(
    _ number: PageNumber, tree: TreeID, level: Int
  ) throws(StorageError) -> PageReference {
    let reference = try page(number)
    let kind = level == 0 ? PageKind.leaf : PageKind.branch
    guard
      reference.bytes.load16(PageLayout.kind.offset)
        == UInt16(kind.rawValue) | UInt16(truncatingIfNeeded: level) &<< 8,
      reference.bytes.load32(PageLayout.tree.offset) == tree
    else {
      release(reference)
      throw Self.foreignPage(number)
    }
    return reference
  }

  /// Returns a page after checking its kind, tree and level.
  ///
  /// The caller must release the page.
  package func page(
    _ number: PageNumber, _ kind: PageKind, tree: TreeID, level: Int
  ) throws(StorageError) -> PageReference {
    let page = try page(number)
    guard page.bytes.load8(PageLayout.kind.offset) == kind.rawValue,
      Int(page.bytes.load8(PageLayout.level.offset)) == level,
      page.bytes.load32(PageLayout.tree.offset) == tree
    else {
      release(page)
      throw .corrupt(
        "The store is corrupt: a page does not match the reference to it. Restore a backup.",
        page: number)
    }
    return page
  }

  @inline(never)
  private static func foreignPage(_ number: PageNumber) -> StorageError {
    .corrupt(
      "The store is corrupt: a tree refers to a page that is not the expected node. Restore a "
        + "backup.",
      page: number)
  }
}
