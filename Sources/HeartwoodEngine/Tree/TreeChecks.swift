/// A check of all pages in a tree and of the references between these pages.
///
/// If a page is corrupt, the check skips only the subtree below that page.
package struct TreeChecks {
  /// The problems found, each described in one sentence.
  package private(set) var findings: [String] = []
  /// The number of entries in all leaves.
  package private(set) var entryCount = 0
  /// The maximum number of findings.
  ///
  /// Without a limit, one problem in a page could cause a finding for each entry.
  private static let maxFindingCount = 1000
  private let view: PageView
  private let tree: TreeID
  private let block = ByteBlock(count: SearchKey.maxByteCount, alignment: 16)

  /// Checks the tree at `root`, and records the findings and the number of entries.
  ///
  /// - Parameter visit: A closure that returns whether a page is being visited for the first time.
  ///   The check visits no page twice, so it ends even if references are circular.
  package init(view: PageView, root: TreeRoot, visit: (PageNumber) -> Bool) {
    self.view = view
    tree = root.tree
    guard visit(root.page) else {
      record("Root page \(root.page) is referenced more than once.")
      return
    }
    do throws(StorageError) {
      let reference = try view.root(root)
      defer { view.release(reference) }
      let level = Int(reference.bytes.load8(PageLayout.level.offset))
      checkNode(reference.bytes, root.page, level: level, Bounds(), visit)
    } catch {
      record("\(error)")
    }
  }

  /// The separators around a node.
  ///
  /// The keys of the node are at or after `lower` and before `upper`.
  private struct Bounds {
    var lower: [UInt8] = []
    var upper: [UInt8]?

    func contains(_ key: [UInt8], isSeparator: Bool) -> Bool {
      if let upper, !key.lexicographicallyPrecedes(upper) { return false }
      if key == lower { return !isSeparator || lower.isEmpty }
      return lower.lexicographicallyPrecedes(key)
    }
  }

  private mutating func record(_ finding: String) {
    if findings.count < Self.maxFindingCount { findings.append(finding) }
  }

  // The recursion ends even if the tree is corrupt, because `checkChild` rejects a child that is
  // not exactly one level below its parent.
  private mutating func checkNode(
    _ page: Bytes, _ number: PageNumber, level: Int, _ bounds: Bounds,
    _ visit: (PageNumber) -> Bool
  ) {
    if let finding = NodeChecks.check(page) {
      record("Page \(number): \(finding)")
      return
    }
    let node = NodeView(page)
    if node.number != number {
      record(
        "The header of page \(number) contains the page number \(node.number).")
    }
    let first = node.isLeaf ? 0 : 1
    if first < node.count {
      let isInOrder = [first, node.count - 1].allSatisfy { index in
        bounds.contains(key(of: node, index), isSeparator: !node.isLeaf)
      }
      if !isInOrder { record("Page \(number) contains keys that are not between its separators.") }
    }
    if node.isLeaf {
      entryCount += node.count
      for index in 0..<node.count where node.isOverflow(index) {
        checkOverflow(node.value(index), in: number, visit)
      }
      return
    }
    for index in 0..<node.count {
      var inner = bounds
      if index > 0 { inner.lower = key(of: node, index) }
      if index + 1 < node.count { inner.upper = key(of: node, index + 1) }
      checkChild(node.child(index), of: number, level: level - 1, inner, visit)
    }
  }

  private mutating func checkChild(
    _ child: PageNumber, of parent: PageNumber, level: Int, _ bounds: Bounds,
    _ visit: (PageNumber) -> Bool
  ) {
    guard visit(child) else {
      record("Page \(child), a child of page \(parent), is referenced more than once.")
      return
    }
    do throws(StorageError) {
      let reference = try view.node(child, tree: tree, level: level)
      defer { view.release(reference) }
      checkNode(reference.bytes, child, level: level, bounds, visit)
    } catch {
      record("\(error)")
    }
  }

  private mutating func checkOverflow(
    _ cell: Bytes, in leaf: PageNumber, _ visit: (PageNumber) -> Bool
  ) {
    do throws(StorageError) {
      let reference = try OverflowReference(cell, in: view)
      let overflow = Overflow(view: view, tree: tree)
      try overflow.forEachPage(reference) { number throws(StorageError) in
        guard visit(number) else {
          throw .corrupt(
            "A page of a large value in leaf \(leaf) is referenced more than once.",
            page: number)
        }
      }
      try overflow.verify(reference)
    } catch {
      record("\(error)")
    }
  }

  private func key(of node: NodeView, _ index: Int) -> [UInt8] {
    defer { block.keep() }
    return node.copyKey(index, to: block.bytes).copied()
  }
}
