/// A snapshot's entries in one keyspace, to be copied to another store in key order.
struct KeyspaceSource {
  private let view: PageView
  private let root: TreeRoot
  private let cursor: TreeCursor
  private(set) var hasEntry: Bool

  /// Creates a source positioned at the first entry.
  ///
  /// The snapshot must outlive the source.
  init(_ snapshot: Snapshot, _ row: Catalog.Row) throws(StorageError) {
    view = snapshot.state.view
    root = row.root
    cursor = TreeCursor(view: view, root: root)
    hasEntry = try cursor.moveToFirst()
  }

  /// Appends the current entry to a tree in another store, and moves to the next entry.
  ///
  /// The method returns the total size of the key and the value in bytes, or 0 if there is no
  /// current entry.
  mutating func moveEntry(
    to builder: inout TreeBuilder, of tree: TreeID, _ pages: WorkingPages,
    _ report: ProgressReport
  ) throws(StorageError) -> Int {
    guard let found = try cursor.value() else { return 0 }
    let key = SearchKey(cursor.key)
    var byteCount = key.count + found.value.count
    if found.isOverflow {
      let source = try OverflowReference(found.value, in: view)
      var target = try OverflowWriter(pages: pages, tree: tree, length: source.length)
      try Overflow(view: view, tree: root.tree).read(source, from: 0, count: source.length) {
        chunk throws(StorageError) in
        try target.append(chunk)
        report.reach(Int(pages.pageCount))
      }
      let copy = try target.finish()
      guard copy.hash == source.hash else {
        throw .corrupt(
          "The store is corrupt: the contents of a large value do not match its hash. Restore a "
            + "backup.", page: source.root)
      }
      try builder.append(key: key, reference: copy)
      byteCount += source.length
    } else {
      try builder.append(key: key, value: found.value)
    }
    hasEntry = try cursor.moveToNext()
    return byteCount
  }
}

extension KeyspaceWriter {
  /// Appends entries from a keyspace in another store.
  ///
  /// The method stops when it has appended at least `byteCount` bytes or no entries are left.
  func append(
    _ source: inout KeyspaceSource, byteCount: Int, _ report: ProgressReport
  ) throws(StorageError) {
    session.requireOpen()
    let pages = session.pages
    try session.changing { () throws(StorageError) in
      var builder = try TreeBuilder(continuing: keyspace.row.root, pages: pages)
      var appended = 0
      while source.hasEntry, appended < byteCount {
        appended += try source.moveEntry(to: &builder, of: keyspace.row.root.tree, pages, report)
        keyspace.noteInserted()
        report.reach(Int(pages.pageCount))
      }
      if !source.hasEntry { try builder.finish() }
    }
  }
}
