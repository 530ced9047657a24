/// A tree's salvageable leaves in key order, and the positions of lost nodes.
///
/// Free pages can contain stale leaves. Three rules exclude them:
///
/// 1. A leaf below intact branches is current.
/// 2. A leaf below a lost branch is current if its bitmap page shows that the page is in use.
/// 3. If that bitmap page is damaged too, a leaf within the range of a lost branch is *doubtful*,
///    and the report counts its entries. If the keys of several such leaves overlap, the outline
///    uses only the newest leaf.
struct TreeOutline {
  enum Item {
    case leaf(PageNumber, isDoubtful: Bool)
    /// The position of a lost leaf, or of a lost branch and all its leaves.
    case lost
    /// The start of a lost branch's range.
    ///
    /// Some of the branch's leaves follow. The other leaves of the branch may be lost.
    case lostBranch
    /// The end of a lost branch's range.
    case endOfLostBranch
  }

  private(set) var items: [Item] = []
  let tree: TreeID
  private let pages: SalvagePages
  /// The lost branches, in key order.
  private var lostBranches: [LostBranch] = []

  private struct LostBranch {
    /// The index in `items` at which to insert the contents of the branch.
    let position: Int
    let lower: [UInt8]
    let upper: [UInt8]?
  }

  /// A subtree whose parent is lost, or a part of such a subtree.
  ///
  /// A subtree is divided at its lost branches, because the leaves of these branches are separate
  /// fragments.
  private struct Fragment {
    let firstKey: [UInt8]
    let items: [Item]
    /// The topmost node of the subtree.
    let top: PageNumber
    /// The items of the entire subtree, with the positions of its lost branches.
    let subtree: [Item]
  }

  /// Creates an outline by finding the leaves of a tree.
  ///
  /// - Parameters:
  ///   - root: The root page, or `nil` if the catalog row that contains it is lost.
  ///   - nodes: The tree's nodes that may be in use, in any order.
  init(
    of tree: TreeID, root: PageNumber?, among nodes: [PageNumber], in pages: SalvagePages
  ) throws(StorageError) {
    self.tree = tree
    self.pages = pages
    if let root, let record = pages.record(root),
      pages.isFreshNode(root, tree: tree, level: Int(record.level))
    {
      try descend(to: root, level: Int(record.level), lower: [], upper: nil)
    } else {
      lostBranches = [LostBranch(position: 0, lower: [], upper: nil)]
    }
    guard !lostBranches.isEmpty else { return }
    let fragments = try certainFragments(nodes) + doubtfulFragments(nodes)
    insert(fragments.sorted { $0.firstKey.precedes($1.firstKey) }, rootIsKnown: root != nil)
  }

  // MARK: Descending

  // The recursion ends, because each child is exactly one level below its parent.
  private mutating func descend(
    to page: PageNumber, level: Int, lower: [UInt8], upper: [UInt8]?
  ) throws(StorageError) {
    pages.markVisited(page)
    guard level > 0 else {
      items.append(.leaf(page, isDoubtful: false))
      return
    }
    guard let branch = try Branch(page, in: pages) else {
      lostBranches.append(LostBranch(position: items.count, lower: lower, upper: upper))
      return
    }
    for (index, child) in branch.children.enumerated() {
      let first = index == 0 ? lower : branch.separators[index]
      let end = index + 1 < branch.children.count ? branch.separators[index + 1] : upper
      if pages.isFreshNode(child, tree: tree, level: level - 1) {
        try descend(to: child, level: level - 1, lower: first, upper: end)
      } else if level == 1 {
        items.append(.lost)
      } else {
        lostBranches.append(LostBranch(position: items.count, lower: first, upper: end))
      }
    }
  }

  private struct Branch {
    let children: [PageNumber]
    /// The separator before each child.
    ///
    /// The separator of the first child is not used.
    let separators: [[UInt8]]

    init?(_ page: PageNumber, in pages: SalvagePages) throws(StorageError) {
      let block = ByteBlock(count: SearchKey.maxByteCount, alignment: 16)
      defer { block.keep() }
      let found = try pages.withNode(page) { node throws(StorageError) in
        (
          (0..<node.count).map { node.child($0) },
          (0..<node.count).map {
            $0 == 0 ? [] : node.copyKey($0, to: block.bytes).copied()
          }
        )
      }
      guard let found else { return nil }
      (children, separators) = found
    }
  }

  // MARK: Fragments

  /// Returns the fragments of the tree that are in use even though no intact branch refers to them.
  private mutating func certainFragments(
    _ nodes: [PageNumber]
  ) throws(StorageError) -> [Fragment] {
    var tops: [(page: PageNumber, level: Int)] = []
    for page in nodes {
      guard let record = pages.record(page), record.usage == .used, !record.isVisited
      else { continue }
      tops.append((page, Int(record.level)))
    }
    var fragments: [Fragment] = []
    let (known, knownBranches) = (items, lostBranches)
    // Visit higher nodes first, because a node is the top of a fragment only if no higher node
    // refers to it.
    for top in tops.sorted(by: { $0.level > $1.level })
    where pages.isFreshNode(top.page, tree: tree, level: top.level) {
      (items, lostBranches) = ([], [])
      try descend(to: top.page, level: top.level, lower: [], upper: nil)
      var subtree = items
      for branch in lostBranches.reversed() { subtree.insert(.lost, at: branch.position) }
      var start = 0
      for end in lostBranches.map(\.position) + [items.count] {
        let part = Array(items[start..<end])
        start = end
        guard let key = try firstKey(of: part) else { continue }
        fragments.append(Fragment(firstKey: key, items: part, top: top.page, subtree: subtree))
      }
    }
    (items, lostBranches) = (known, knownBranches)
    return fragments
  }

  /// Returns the lowest key in a fragment, or `nil` if the fragment has no intact leaf.
  ///
  /// If the fragment is the leaf of an empty tree, the method returns the empty key.
  private func firstKey(of items: [Item]) throws(StorageError) -> [UInt8]? {
    var isEmptyTree = false
    for case .leaf(let page, _) in items {
      if let range = try KeyInterval(of: page, in: pages) { return range.first }
      isEmptyTree = true
    }
    return isEmptyTree ? [] : nil
  }

  /// Returns the doubtful leaves within the ranges of lost branches.
  ///
  /// These leaves may be in use, but their bitmap pages are damaged.
  private func doubtfulFragments(_ nodes: [PageNumber]) throws(StorageError) -> [Fragment] {
    var candidates: [KeyInterval] = []
    for page in nodes {
      guard let record = pages.record(page), record.usage == .unknown, !record.isVisited,
        record.kind == .leaf, let interval = try KeyInterval(of: page, in: pages),
        lostBranch(of: interval.first) != nil
      else { continue }
      candidates.append(interval)
    }
    return KeyInterval.newest(of: candidates).map { interval in
      let items = [Item.leaf(interval.page, isDoubtful: true)]
      return Fragment(
        firstKey: interval.first, items: items, top: interval.page, subtree: items)
    }
  }

  private func lostBranch(of key: [UInt8]) -> Int? {
    // Find the last range that does not begin after the key. This range is the only candidate,
    // because the ranges are in ascending order.
    var (low, high) = (0, lostBranches.count)
    while low < high {
      let middle = (low + high) / 2
      if key.precedes(lostBranches[middle].lower) { high = middle } else { low = middle + 1 }
    }
    guard low > 0, lostBranches[low - 1].upper.map({ key.precedes($0) }) ?? true else {
      return nil
    }
    return low - 1
  }

  /// Inserts sorted fragments into the lost branches whose ranges contain them.
  private mutating func insert(_ fragments: [Fragment], rootIsKnown: Bool) {
    var contents = lostBranches.map { _ in [Fragment]() }
    for fragment in fragments {
      if let branch = lostBranch(of: fragment.firstKey) { contents[branch].append(fragment) }
    }
    var result: [Item] = []
    var position = 0
    for (branch, fragments) in zip(lostBranches, contents) {
      result += items[position..<branch.position]
      position = branch.position
      if fragments.isEmpty {
        result.append(.lost)
      } else if !rootIsKnown, fragments.allSatisfy({ $0.top == fragments[0].top }) {
        // If the subtree is the complete tree, only the name of the tree is lost, so use the
        // subtree as is.
        result += fragments[0].subtree
      } else {
        result.append(.lostBranch)
        for fragment in fragments { result += fragment.items }
        result.append(.endOfLostBranch)
      }
    }
    items = result + items[position...]
  }
}

extension [UInt8] {
  /// Returns whether the bytes sort before `other`.
  func precedes(_ other: [UInt8]) -> Bool {
    withBytes { own in other.withBytes { own.compare($0) } } < 0
  }
}
