/// A keyspace a transaction has touched.
final class OpenKeyspace {
  let name: String
  let writer: TreeWriter
  var row: Catalog.Row
  /// Whether the catalog has to be told at the commit.
  var hasNewCount = false
  var isRemoved = false

  init(name: String, row: Catalog.Row, pages: WorkingPages) {
    self.name = name
    self.row = row
    writer = TreeWriter(pages: pages, root: row.root)
  }
}

/// A transaction while its closure runs: its pages and its keyspaces.
///
/// Used by the one thread that holds the writer lock.
final class WriteSession {
  let scope: TransactionScope
  var pages: WorkingPages { scope.pages }
  private var keyspaces: [String: OpenKeyspace] = [:]
  /// The error that stopped a change half way: what the pages hold then is nobody's state.
  private var interruption: StorageError?

  init(pages: WorkingPages) { scope = TransactionScope(pages: pages) }

  /// Traps if the transaction's closure has returned.
  func requireOpen() { scope.requireOpen() }

  /// Runs a change; one that fails half way makes the transaction impossible to commit.
  func changing<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    if let interruption { throw interruption }
    do throws(StorageError) {
      return try body()
    } catch {
      interruption = error
      throw error
    }
  }

  /// The keyspace of this name, made if there is none.
  func keyspace(_ name: String) throws(StorageError) -> OpenKeyspace {
    requireOpen()
    if let known = keyspaces[name], !known.isRemoved { return known }
    let byteCount = name.utf8.count
    guard byteCount > 0, byteCount <= Limits.maxKeyspaceNameByteCount else {
      throw StorageError(
        .tooLarge,
        "A keyspace name has 1 to \(Limits.maxKeyspaceNameByteCount) bytes; this one has "
          + "\(byteCount).")
    }
    let opened: OpenKeyspace
    if keyspaces[name] == nil, let row = try Catalog.row(name, in: pages.view) {
      opened = OpenKeyspace(name: name, row: row, pages: pages)
    } else {
      opened = try changing { () throws(StorageError) in try create(name) }
    }
    keyspaces[name] = opened
    return opened
  }

  private func create(_ name: String) throws(StorageError) -> OpenKeyspace {
    if pages.pageCount == 0 {
      let catalog = try TreeWriter.create(pages, tree: Catalog.root.tree)
      guard catalog.page == Catalog.root.page else {
        throw .corrupt("The catalog's page of an empty store is taken.", page: catalog.page)
      }
    }
    let number = try Catalog.nextTree(in: pages.view)
    guard number < TreeID.max else {
      throw StorageError(.full, "The store has made as many keyspaces as it can number.")
    }
    let block = ByteBlock(count: 4)
    defer { block.keep() }
    block.bytes.store32(number + 1, 0)
    try setRow(Catalog.nextTreeKey, block.bytes.bytes)
    let root = try TreeWriter.create(pages, tree: number)
    let created = OpenKeyspace(
      name: name, row: Catalog.Row(root: root, count: 0), pages: pages)
    try writeRow(created)
    return created
  }

  /// Removes a keyspace with all its entries; false if there is none.
  ///
  /// - Complexity: Every page of the keyspace is read once.
  func removeKeyspace(_ name: String) throws(StorageError) -> Bool {
    requireOpen()
    guard keyspaces[name].map({ !$0.isRemoved }) ?? true,
      let row = try Catalog.row(name, in: pages.view)
    else { return false }
    try changing { () throws(StorageError) in
      let writer = TreeWriter(pages: pages, root: row.root)
      try writer.removeAll()
      let catalog = TreeWriter(pages: pages, root: Catalog.root)
      _ = try withSearchBytes(name) { key throws(StorageError) in
        try catalog.delete(SearchKey(key))
      }
    }
    let removed = keyspaces[name] ?? OpenKeyspace(name: name, row: row, pages: pages)
    removed.isRemoved = true
    keyspaces[name] = removed
    return true
  }

  /// Tells the catalog what the transaction changed; the last step before the commit.
  func finish() throws(StorageError) {
    if let interruption { throw interruption }
    for keyspace in keyspaces.values.sorted(by: { $0.name < $1.name })
    where keyspace.hasNewCount && !keyspace.isRemoved {
      try writeRow(keyspace)
    }
  }

  private func writeRow(_ keyspace: OpenKeyspace) throws(StorageError) {
    let row = Catalog.encode(keyspace.row)
    try row.withBytes { row throws(StorageError) in try setRow(Key(keyspace.name), row) }
  }

  private func setRow(_ key: Key, _ value: Bytes) throws(StorageError) {
    try withSearchBytes(key) { key throws(StorageError) in
      _ = try TreeWriter(pages: pages, root: Catalog.root).put(SearchKey(key), value)
    }
  }
}
