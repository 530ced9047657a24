/// A keyspace that a transaction has opened.
final class OpenKeyspace: KeyspaceScope {
  let name: String
  let writer: TreeWriter
  /// The keyspace's catalog row before the transaction, or `nil` if the transaction created the
  /// keyspace.
  let original: Catalog.Row?
  var row: Catalog.Row
  /// A Boolean value that indicates whether the commit must update the catalog.
  var hasNewCount = false

  init(name: String, row: Catalog.Row, original: Catalog.Row?, in transaction: TransactionScope) {
    self.name = name
    self.original = original
    self.row = row
    writer = TreeWriter(pages: transaction.pages, root: row.root)
    super.init(transaction: transaction)
  }

  func restore(_ row: Catalog.Row, hasNewCount: Bool = false, isRemoved: Bool = false) {
    self.row = row
    self.hasNewCount = hasNewCount
    self.isRemoved = isRemoved
  }

  func noteInserted() {
    row.count += 1
    hasNewCount = true
  }

  func noteDeleted(_ count: UInt64) throws(StorageError) {
    guard row.count >= count else {
      throw .corrupt(
        "The store is corrupt: the catalog records too few entries for keyspace \"\(name)\". "
          + "Restore a backup.")
    }
    row.count -= count
    hasNewCount = true
  }
}

/// The state of a running transaction.
///
/// Only the thread that holds the writer lock uses this object.
final class WriteSession {
  let scope: TransactionScope
  var pages: WorkingPages { scope.pages }
  /// The keyspaces that have been opened or removed, keyed by the UTF-8 bytes of their names.
  ///
  /// The keys are not strings, because strings with different bytes can compare as equal.
  private var keyspaces: [[UInt8]: OpenKeyspace] = [:]
  /// The error that interrupted a change and left the pages inconsistent, or `nil` if there is
  /// none.
  private var interruption: StorageError?

  init(pages: WorkingPages) { scope = TransactionScope(pages: pages) }

  func requireOpen() { scope.requireOpen() }

  /// Runs `body`, which makes a change to the pages.
  ///
  /// If `body` throws, the transaction cannot commit unless it first rolls back to an earlier
  /// savepoint.
  func changing<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    if let interruption { throw interruption }
    do throws(StorageError) {
      let result = try body()
      // Spill pages only after the change, because `body` may use bytes that spilling would move.
      try pages.makeRoom()
      return result
    } catch {
      interruption = error
      throw error
    }
  }

  func savepoint<R>(_ body: () throws -> R) throws -> R {
    requireOpen()
    if let interruption { throw interruption }
    precondition(
      !keyspaces.values.contains { $0.isLoading },
      "A savepoint was started during a bulk load. Start it after the bulk load has returned.")
    let known = keyspaces
    let saved = known.values.map { ($0, $0.row, $0.hasNewCount, $0.isRemoved) }
    pages.beginSavepoint()
    do {
      let result = try body()
      pages.releaseSavepoint()
      return result
    } catch {
      pages.rollBackSavepoint()
      // The rollback has undone any interrupted change, so let the transaction continue.
      interruption = nil
      for (keyspace, row, hasNewCount, isRemoved) in saved {
        keyspace.restore(row, hasNewCount: hasNewCount, isRemoved: isRemoved)
      }
      restoreKeyspaces(known)
      throw error
    }
  }

  /// Restores the set of open keyspaces after a savepoint has been rolled back.
  ///
  /// A keyspace that existed before the transaction stays open even if it was opened within the
  /// savepoint, because it was unchanged when the savepoint began.
  private func restoreKeyspaces(_ known: [[UInt8]: OpenKeyspace]) {
    let opened = keyspaces
    keyspaces = known
    for (name, keyspace) in opened where keyspace !== known[name] {
      if known[name] == nil, let original = keyspace.original {
        keyspace.restore(original)
        keyspaces[name] = keyspace
      } else {
        keyspace.isRemoved = true
      }
    }
  }

  /// Returns the keyspace with this name, creating it if it does not exist.
  func keyspace(_ name: String) throws(StorageError) -> OpenKeyspace {
    requireOpen()
    let key = Array(name.utf8)
    if let known = keyspaces[key], !known.isRemoved { return known }
    guard 1...Limits.maxKeyspaceNameByteCount ~= key.count else {
      throw StorageError(
        .tooLarge,
        "The name of a keyspace must be 1 to \(Limits.maxKeyspaceNameByteCount) bytes long, but "
          + "this name is \(key.count) bytes long. Choose a different name.")
    }
    let opened: OpenKeyspace
    if keyspaces[key] == nil, let row = try Catalog.row(name, in: pages.view) {
      opened = OpenKeyspace(name: name, row: row, original: row, in: scope)
    } else {
      opened = try changing { () throws(StorageError) in try create(name) }
    }
    keyspaces[key] = opened
    return opened
  }

  private func create(_ name: String) throws(StorageError) -> OpenKeyspace {
    if pages.pageCount == 0 {
      let catalog = try TreeWriter.create(pages, tree: Catalog.root.tree)
      guard catalog.page == Catalog.root.page else {
        throw .corrupt(
          "The store is corrupt: it contains no catalog, but the page for the catalog is already "
            + "in use. Restore a backup.",
          page: catalog.page)
      }
    }
    let number = try Catalog.nextTree(in: pages.view)
    guard number < TreeID.max else {
      throw StorageError(
        .diskFull,
        "The store has run out of keyspace numbers. Copy the store to a new path, and use the "
          + "copy.")
    }
    let block = ByteBlock(count: 4)
    defer { block.keep() }
    block.bytes.store32(number + 1, 0)
    try Catalog.set(Catalog.nextTreeKey, to: block.bytes.bytes, in: pages)
    let root = try TreeWriter.create(pages, tree: number)
    let created = OpenKeyspace(
      name: name, row: Catalog.Row(root: root, count: 0), original: nil, in: scope)
    try Catalog.set(created.row, of: name, in: pages)
    return created
  }

  /// Removes a keyspace and all its entries, and returns whether the keyspace existed.
  func removeKeyspace(_ name: String) throws(StorageError) -> Bool {
    requireOpen()
    let key = Array(name.utf8)
    if let open = keyspaces[key], !open.isRemoved { open.requireUsable() }
    guard keyspaces[key].map({ !$0.isRemoved }) ?? true,
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
    let removed = keyspaces[key] ?? OpenKeyspace(name: name, row: row, original: row, in: scope)
    removed.isRemoved = true
    keyspaces[key] = removed
    return true
  }

  /// Updates the catalog with the transaction's changes.
  ///
  /// This is the last step before the commit.
  func finish() throws(StorageError) {
    if let interruption { throw interruption }
    for keyspace in keyspaces.values.sorted(by: { $0.name < $1.name })
    where keyspace.hasNewCount && !keyspace.isRemoved {
      try Catalog.set(keyspace.row, of: keyspace.name, in: pages)
      try pages.makeRoom()
    }
    try pages.cutTail()
  }
}
