/// A write transaction, whose changes become the next generation of the store.
///
/// A transaction is valid only in the closure passed to `Store.write`. It reads its own changes.
/// Readers do not see these changes until the closure has returned and the transaction is
/// committed. After the closure has returned, any use of the transaction, its keyspaces or its
/// cursors traps.
public struct WriteTransaction {
  let session: WriteSession

  /// Returns the keyspace with this name, creating the keyspace on first use.
  ///
  /// - Throws: `tooLarge` for a name that is empty or too long, or `corrupt` or `io` if the catalog
  ///   cannot be read.
  public func keyspace(_ name: String) throws -> KeyspaceWriter {
    KeyspaceWriter(session: session, keyspace: try session.keyspace(name))
  }

  /// Removes a keyspace and all its entries.
  ///
  /// The method does nothing if no keyspace has this name.
  ///
  /// - Complexity: Reads every page of the keyspace once to free it.
  public func removeKeyspace(_ name: String) throws {
    _ = try session.removeKeyspace(name)
  }

  /// Runs `body`, and rolls back its changes if `body` throws an error.
  ///
  /// The transaction continues either way. Savepoints may be nested. After a rollback, keyspaces
  /// created in the savepoint no longer exist, and using them traps. Keyspaces that existed before
  /// the transaction and were opened in the savepoint can still be used. Cursors restore their
  /// positions.
  ///
  /// ```swift
  /// try store.write { transaction in
  ///   for order in orders {
  ///     try? transaction.savepoint { try book(order, in: &$0) }
  ///   }
  /// }
  /// ```
  ///
  /// - Returns: The result of `body`.
  /// - Throws: Any error that `body` throws, unchanged. If an error interrupted an earlier change
  ///   in the transaction, this method throws that error without calling `body`.
  /// - Complexity: Needs memory for one copy of each page that `body` changes. The savepoint itself
  ///   reads and writes no pages.
  public mutating func savepoint<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
    let session = session
    return try session.savepoint { try body(&self) }
  }

  /// The number of the transaction's first frame.
  ///
  /// No two committed transactions have the same base. The object graph therefore uses the base as
  /// the version of every row that the transaction writes. A row is newer than every generation
  /// whose number is below the row's version.
  package var base: UInt64 { session.pages.base }

  /// Calls `body` for every key whose entry in `target` differs from the entry in this
  /// transaction's base state.
  ///
  /// The base state is the generation that this transaction builds on, and takes the place of
  /// `from` in ``Store/changes(from:to:where:_:)``. The base state may be newer than any snapshot,
  /// because its commit may not be synced and visible yet.
  ///
  /// - Throws: `foreignStore` if the snapshot was taken from another store, or before this store
  ///   was opened. Also throws `corrupt`, `io`, or any error that `body` throws.
  package func changes(to target: Snapshot, _ body: (StoreChange) throws -> Void) throws {
    session.requireOpen()
    guard target.state.files === session.pages.files else {
      throw StorageError(
        .foreignStore,
        "The snapshot was taken from another store, or from this store before it was reopened. "
          + "Take a new snapshot of this store.")
    }
    defer { withExtendedLifetime(target) {} }
    guard session.pages.state.generation != target.state.generation else { return }
    try SnapshotDifference(from: session.pages.state, to: target.state).forEach(body)
  }

  /// The number of pages that the transaction keeps in memory.
  package var memoryPageCount: Int { session.pages.memoryPageCount }

  /// The names of all keyspaces, sorted by their UTF-8 bytes.
  public var keyspaceNames: [String] {
    get throws {
      session.requireOpen()
      return try Catalog.rows(in: session.pages.view).map(\.name)
    }
  }
}
