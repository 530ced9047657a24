/// Checks a whole tree, page by page, and what its pages say about each other.
///
/// Damage ends the check of the part it is in, never that of the rest.
package struct TreeChecks {
  /// A sentence for each thing that is wrong; empty for a sound tree.
  package private(set) var findings: [String] = []
  /// Entries in all leaves.
  package private(set) var entryCount = 0
  /// What is wrong with one page may be found once for each entry; more says nothing new.
  private static let maxFindingCount = 1000
  private let view: PageView
  private let tree: TreeID

  /// Checks the tree at `root`.
  ///
  /// - Parameter visit: called once for each page referred to, large values included; says whether
  ///   the page was not visited before. That bounds the work on bytes that lead in circles.
  package init(view: PageView, root: TreeRoot, visit: (PageNumber) -> Bool) {
    self.view = view
    tree = root.tree
    guard visit(root.page) else {
      record("Page \(root.page), a root, belongs to something else as well.")
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

  /// The separators around a node: no key is before `lower`, every key is before `upper`.
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

  // Recursion over at most the levels of a tree: every child lies one level below its parent.
  private mutating func checkNode(
    _ page: Bytes, _ number: PageNumber, level: Int, _ bounds: Bounds,
    _ visit: (PageNumber) -> Bool
  ) {
    if let finding = NodeChecks.check(page) {
      record("Page \(number): \(finding)")
      return
    }
    let node = NodeView(page)
    if node.number != number { record("Page \(number) says it is page \(node.number).") }
    let first = node.isLeaf ? 0 : 1
    if first < node.count {
      let isInOrder = [first, node.count - 1].allSatisfy { index in
        bounds.contains(Self.key(of: node, index), isSeparator: !node.isLeaf)
      }
      if !isInOrder { record("Page \(number) holds keys outside the separators around it.") }
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
      if index > 0 { inner.lower = Self.key(of: node, index) }
      if index + 1 < node.count { inner.upper = Self.key(of: node, index + 1) }
      checkChild(node.child(index), of: number, level: level - 1, inner, visit)
    }
  }

  private mutating func checkChild(
    _ child: PageNumber, of parent: PageNumber, level: Int, _ bounds: Bounds,
    _ visit: (PageNumber) -> Bool
  ) {
    guard visit(child) else {
      record("Page \(child), a child of page \(parent), belongs to something else as well.")
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
            "A page of a large value in page \(leaf) belongs to something else as well.",
            page: number)
        }
      }
      try overflow.verify(reference)
    } catch {
      record("\(error)")
    }
  }

  private static func key(of node: NodeView, _ index: Int) -> [UInt8] {
    var key = node.prefix.copied()
    var head = node.head(index)
    let suffixCount = node.suffixCount(index)
    for _ in 0..<min(suffixCount, 8) {
      key.append(UInt8(truncatingIfNeeded: head >> 56))
      head <<= 8
    }
    return key + node.rest(index).copied()
  }
}
