/// The trees of a damaged store, with the names found in the intact rows of its catalog.
struct SalvagedCatalog {
  struct Tree {
    let name: String
    let tree: TreeID
    /// The root page, or `nil` if the tree's catalog row is lost.
    var root: PageNumber?
    /// The number of entries, or `nil` if the tree's catalog row is lost.
    var count: Int?
    var hasLostName: Bool { root == nil }
  }

  /// The trees, sorted by name.
  private(set) var trees: [Tree] = []
  /// A Boolean value that indicates whether catalog rows may have been lost.
  private(set) var hasLostNames = false
  private(set) var notes: [String] = []
  private var names: Set<String> = []

  /// Creates a catalog from the intact rows, and gives each tree without a row a name such as
  /// `lost.17`.
  ///
  /// - Parameter nodes: The nodes that may be in use, keyed by tree.
  init(in pages: SalvagePages, _ nodes: [TreeID: [PageNumber]]) throws(StorageError) {
    guard !pages.records.isEmpty else { return }
    let outline = try TreeOutline(
      of: Catalog.root.tree, root: Catalog.root.page, among: nodes[Catalog.root.tree] ?? [],
      in: pages)
    var found: [TreeID: Tree] = [:]
    for item in outline.items {
      guard case .leaf(let page, let isDoubtful) = item else {
        if case .endOfLostBranch = item { continue }
        hasLostNames = true
        continue
      }
      if isDoubtful { hasLostNames = true }
      guard try addRows(of: page, in: pages, to: &found) else {
        hasLostNames = true
        continue
      }
    }
    if hasLostNames { addLostTrees(nodes, to: &found) }
    trees = found.values.sorted { $0.name < $1.name }
  }

  /// Adds the rows in a leaf of the catalog.
  ///
  /// - Returns: `false` if any row is invalid, or `true` otherwise.
  private mutating func addRows(
    of page: PageNumber, in pages: SalvagePages, to found: inout [TreeID: Tree]
  ) throws(StorageError) -> Bool {
    let block = ByteBlock(count: SearchKey.maxByteCount, alignment: 16)
    defer { block.keep() }
    let rows = try pages.withNode(page) { node throws(StorageError) in
      (0..<node.count).map { slot in
        node.isOverflow(slot)
          ? nil : Self.tree(node.copyKey(slot, to: block.bytes), node.value(slot))
      }
    }
    guard let rows else { return false }
    var areValid = true
    for row in rows {
      switch row {
      case nil: areValid = false
      case .nextTree: break
      case .tree(let tree):
        // Reject duplicates, because each tree has one row, and each name belongs to one tree.
        if found[tree.tree] == nil, names.insert(tree.name).inserted {
          found[tree.tree] = tree
        } else {
          areValid = false
        }
      }
    }
    return areValid
  }

  private enum Row {
    case nextTree
    case tree(Tree)
  }

  /// Decodes a row, or returns `nil` if the row is invalid.
  private static func tree(_ key: Bytes, _ value: Bytes) -> Row? {
    if Catalog.nextTreeKey.bytes.withBytes({ key.equals($0) }) { return .nextTree }
    guard let name = try? Catalog.name(of: key), let row = try? Catalog.decode(value),
      (1...Limits.maxKeyspaceNameByteCount).contains(name.utf8.count)
    else { return nil }
    return .tree(
      Tree(name: name, tree: row.root.tree, root: row.root.page, count: Int(row.count)))
  }

  /// Adds the trees that have nodes but no row.
  private mutating func addLostTrees(
    _ nodes: [TreeID: [PageNumber]], to found: inout [TreeID: Tree]
  ) {
    let lost = nodes.keys.filter { $0 != Catalog.root.tree && found[$0] == nil }
    for tree in lost {
      var name = "lost.\(tree)"
      while names.contains(name) { name += "'" }
      found[tree] = Tree(name: name, tree: tree)
    }
    notes.append(
      lost.isEmpty
        ? "Some rows of the catalog are lost, but all keyspaces that were found still have their "
          + "names."
        : "Some rows of the catalog and the names of some keyspaces (\(lost.count)) are lost.")
  }
}
