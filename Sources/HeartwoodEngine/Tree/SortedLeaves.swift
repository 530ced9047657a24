/// Selected leaves from one state of the store, grouped by tree and sorted by key.
package struct SortedLeaves {
  private var pages: [TreeID: [PageNumber]] = [:]

  private struct Leaf {
    let page: PageNumber
    let tree: TreeID
    /// The offset of the leaf's first key in the concatenation of all first keys.
    let keyOffset: Int
    let keyCount: Int
  }

  /// Selects the nonempty leaves of the given trees from `pages`, and sorts these leaves by key.
  ///
  /// - Throws: `corrupt` if a page is corrupt, or `io` if it cannot be read.
  /// - Complexity: Reads each page once.
  package init(
    among pages: [PageNumber], of trees: Set<TreeID>, in view: PageView
  ) throws(StorageError) {
    var keys: [UInt8] = []
    var leaves: [Leaf] = []
    let block = ByteBlock(count: SearchKey.maxByteCount, alignment: 16)
    defer { block.keep() }
    for page in pages {
      let reference = try view.page(page)
      defer { view.release(reference) }
      let kind = reference.bytes.load8(PageLayout.kind.offset)
      guard kind == PageKind.leaf.rawValue,
        trees.contains(reference.bytes.load32(PageLayout.tree.offset))
      else { continue }
      let node = NodeView(reference.bytes)
      guard node.count > 0 else { continue }
      let key = node.copyKey(0, to: block.bytes)
      leaves.append(
        Leaf(
          page: page, tree: reference.bytes.load32(PageLayout.tree.offset), keyOffset: keys.count,
          keyCount: key.count))
      keys += key.buffer
    }
    keys.withBytes { keys in
      leaves.sort { left, right in
        let leftKey = keys.slice(left.keyOffset, left.keyCount)
        return leftKey.compare(keys.slice(right.keyOffset, right.keyCount)) < 0
      }
    }
    for leaf in leaves { self.pages[leaf.tree, default: []].append(leaf.page) }
  }

  /// Returns the leaves of a tree, in ascending order of their keys.
  package subscript(tree: TreeID) -> [PageNumber] { pages[tree] ?? [] }
}
