/// The entries that differ between two states of one store.
///
/// The comparison reads only leaves that were written or freed between the two states. It
/// identifies keyspaces by name, because a keyspace that was removed and created again has a
/// different tree.
///
/// - Important: Both states must outlive this value.
package struct SnapshotDifference {
  private let source: Side
  private let target: Side

  /// One of the two states being compared.
  private struct Side {
    let view: PageView
    /// The leaves of this state that the other state does not share.
    let leaves: SortedLeaves
    let trees: [(name: String, tree: TreeID)]

    init(
      _ state: GenerationState, _ pages: [PageNumber], _ isWanted: (String) -> Bool
    ) throws(StorageError) {
      view = state.view
      trees = try Catalog.rows(in: state.view).filter { isWanted($0.name) }
        .map { ($0.name, $0.row.root.tree) }
      leaves = try SortedLeaves(among: pages, of: Set(trees.map(\.tree)), in: state.view)
    }

    func scanner(of tree: TreeID?) -> LeafScanner {
      LeafScanner(tree.map { leaves[$0] } ?? [], tree: tree ?? 0, in: view)
    }
  }

  /// Creates a difference by finding the leaves that the two states do not share, and sorting them
  /// by key.
  ///
  /// - Complexity: For each state, one read of the catalog and of every page that was written or
  ///   freed between the two states.
  package init(
    from source: GenerationState, to target: GenerationState,
    where isWanted: (_ keyspace: String) -> Bool = { _ in true }
  ) throws(StorageError) {
    if source.generation <= target.generation {
      let pages = try PageDifference(from: source, to: target)
      self.source = try Side(source, pages.replaced, isWanted)
      self.target = try Side(target, pages.written, isWanted)
    } else {
      let pages = try PageDifference(from: target, to: source)
      self.source = try Side(source, pages.written, isWanted)
      self.target = try Side(target, pages.replaced, isWanted)
    }
  }

  /// Calls `body` for every entry that differs, in order of keyspace and key.
  ///
  /// - Complexity: Reads each differing leaf a second time. Also reads the pages of large values
  ///   that were rewritten with the same length and hash.
  package func forEach(_ body: (StoreChange) throws -> Void) throws {
    var (old, new) = (source.trees[...], target.trees[...])
    while let name = Self.least(old.first?.name, new.first?.name) {
      var trees: (source: TreeID?, target: TreeID?) = (nil, nil)
      if let first = old.first, first.name.utf8.elementsEqual(name.utf8) {
        trees.source = old.removeFirst().tree
      }
      if let first = new.first, first.name.utf8.elementsEqual(name.utf8) {
        trees.target = new.removeFirst().tree
      }
      try merge(name, trees.source, trees.target, body)
    }
  }

  /// Returns the name that sorts first in the catalog, which compares UTF-8 bytes.
  ///
  /// Swift's own comparison would treat canonically equivalent names as equal.
  private static func least(_ left: String?, _ right: String?) -> String? {
    guard let left, let right else { return left ?? right }
    return right.utf8.lexicographicallyPrecedes(left.utf8) ? right : left
  }

  /// Compares the leaves of one keyspace, entry by entry.
  private func merge(
    _ name: String, _ sourceTree: TreeID?, _ targetTree: TreeID?,
    _ body: (StoreChange) throws -> Void
  ) throws {
    let old = source.scanner(of: sourceTree)
    let new = target.scanner(of: targetTree)
    var hasOld = try old.moveToNext()
    var hasNew = try new.moveToNext()
    while hasOld || hasNew {
      let order = hasOld && hasNew ? old.key.compare(new.key) : hasOld ? -1 : 1
      if order < 0 {
        try body(StoreChange(keyspace: name, key: old.key.copied(), kind: .deleted))
        hasOld = try old.moveToNext()
      } else if order > 0 {
        try body(StoreChange(keyspace: name, key: new.key.copied(), kind: .inserted))
        hasNew = try new.moveToNext()
      } else {
        if try !hasEqualValues(old, new) {
          try body(StoreChange(keyspace: name, key: new.key.copied(), kind: .updated))
        }
        // Skip consecutive unchanged entries in one call, which is faster, because most entries of
        // a rewritten leaf are unchanged.
        old.skipSame(as: new)
        hasOld = try old.moveToNext()
        hasNew = try new.moveToNext()
      }
    }
  }

  private func hasEqualValues(_ old: LeafScanner, _ new: LeafScanner) throws(StorageError) -> Bool {
    guard old.isOverflow == new.isOverflow else { return false }
    // For an overflow entry, compare the references. A reference identifies the transaction that
    // wrote the bytes, so equal references refer to the same bytes.
    if old.value.equals(new.value) { return true }
    guard old.isOverflow else { return false }
    let oldReference = try OverflowReference(old.value, in: source.view)
    let newReference = try OverflowReference(new.value, in: target.view)
    guard oldReference.length == newReference.length, oldReference.hash == newReference.hash
    else { return false }
    let oldValue = Overflow(view: source.view, tree: old.tree)
    let newValue = Overflow(view: target.view, tree: new.tree)
    var isEqual = true
    var offset = 0
    try oldValue.read(oldReference, from: 0, count: oldReference.length) {
      chunk throws(StorageError) in
      try newValue.read(newReference, from: offset, count: chunk.count) { other in
        isEqual = isEqual && chunk.equals(other)
      }
      offset += chunk.count
    }
    return isEqual
  }
}
