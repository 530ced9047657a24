/// An operation that moves pages from the end of the page file into earlier free pages.
///
/// Each step runs in a separate transaction, so that it uses a bounded amount of memory and blocks
/// other writers only for a bounded time. The store may change between steps.
///
/// The *limit* is the number of pages that the page file would have if none of them were free. Each
/// round first moves the tree nodes that are beyond the limit. It then walks the trees that have
/// large values beyond the limit, because a page of a large value does not record which leaf refers
/// to the value.
package struct Compaction {
  package private(set) var movedCount = 0
  /// The number of pages to move, as counted when the first step began.
  ///
  /// These are the pages in use beyond the limit.
  package private(set) var expectedCount = 0
  private let geometry: Geometry
  private let stepByteCount: Int
  private var hasBegun = false
  private var movedBefore = 0
  private var nextPage: PageNumber = 0
  private var isWalking = false
  /// The trees left to walk in this round.
  private var trees: Set<TreeID> = []
  private var tree: TreeID?
  /// The key at which to continue in `tree`.
  private var key: [UInt8] = []

  /// Creates a compaction.
  ///
  /// Each step reads or moves pages with a total size of up to `stepByteCount` bytes.
  package init(geometry: Geometry, stepByteCount: Int) {
    self.geometry = geometry
    self.stepByteCount = stepByteCount
  }

  /// Runs the next step in a transaction.
  ///
  /// - Returns: Whether another step is needed.
  package mutating func step(_ pages: WorkingPages) throws(StorageError) -> Bool {
    guard pages.pageCount > 0 else { return false }
    let used = UsedPages(view: pages.view, geometry: geometry)
    let limit = try used.leastPageCount()
    if !hasBegun {
      hasBegun = true
      expectedCount = try used.count(from: limit)
    }
    guard limit < pages.pageCount else { return false }
    let budget = max(stepByteCount / geometry.pageByteCount, 1)
    var mover = PageMover(pages: pages, limit: limit, budget: budget)
    if isWalking { try walk(&mover) } else { try look(&mover, used) }
    movedCount += mover.movedCount
    try pages.cutTail(always: true)
    guard isWalking, trees.isEmpty else { return true }
    isWalking = false
    nextPage = 0
    // Do not move more pages than were beyond the limit at the start. Otherwise, writers that keep
    // adding pages could prolong the compaction forever.
    defer { movedBefore = movedCount }
    return movedCount > movedBefore && movedCount <= expectedCount
  }

  /// Moves the next tree nodes that are beyond the limit, and records the trees that have large
  /// values beyond the limit.
  private mutating func look(_ mover: inout PageMover, _ used: UsedPages) throws(StorageError) {
    let view = mover.pages.view
    var rows: [TreeID: (name: String, row: Catalog.Row)] = [:]
    for entry in try Catalog.rows(in: view) { rows[entry.row.root.tree] = entry }
    while mover.budget > 0 {
      guard let page = try used.next(from: max(nextPage, mover.limit)) else {
        isWalking = true
        return
      }
      nextPage = page + 1
      mover.look()
      let reference = try view.page(page)
      let kind = PageKind(rawValue: reference.bytes.load8(PageLayout.kind.offset))
      let tree = reference.bytes.load32(PageLayout.tree.offset)
      view.release(reference)
      switch kind {
      case .leaf, .branch:
        if tree == Catalog.root.tree {
          try mover.moveNode(page, of: Catalog.root)
        } else if let (name, row) = rows[tree] {
          rows[tree]?.row = try move(page, of: name, row, &mover)
        } else {
          throw .corrupt(
            "The store is corrupt: a page is in use, but does not belong to any keyspace. Restore "
              + "a backup.", page: page)
        }
      case .overflow, .overflowIndex: trees.insert(tree)
      case .bitmap, nil: break
      }
    }
  }

  /// Moves a node of a keyspace, and returns the keyspace's catalog row.
  ///
  /// The row changes if the node is the root.
  private func move(
    _ page: PageNumber, of name: String, _ row: Catalog.Row, _ mover: inout PageMover
  ) throws(StorageError) -> Catalog.Row {
    guard page == row.root.page else {
      try mover.moveNode(page, of: row.root)
      return row
    }
    guard let root = try mover.moveRoot(row.root) else { return row }
    let moved = Catalog.Row(root: root, count: row.count)
    try Catalog.set(moved, of: name, in: mover.pages)
    return moved
  }

  /// Moves pages of large values, tree by tree.
  private mutating func walk(_ mover: inout PageMover) throws(StorageError) {
    var roots: [TreeID: TreeRoot] = [:]
    for entry in try Catalog.rows(in: mover.pages.view) {
      roots[entry.row.root.tree] = entry.row.root
    }
    while mover.budget > 0, let current = tree ?? trees.first {
      // If the keyspace has since been removed, it has no pages left to move.
      var next: [UInt8]?
      if let root = roots[current] {
        next = try mover.moveValues(of: root, from: key)
      }
      if let next {
        tree = current
        key = next
      } else {
        trees.remove(current)
        tree = nil
        key = []
      }
    }
  }
}
