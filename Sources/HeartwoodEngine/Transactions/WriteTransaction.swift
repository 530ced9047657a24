/// A write transaction, which creates the next generation; valid within the closure of
/// `Store.write` only.
///
/// It reads its own changes. None of them is visible to others before the closure has returned and
/// the commit is done. Using the transaction, one of its keyspaces or a cursor after the closure
/// traps.
public struct WriteTransaction {
  let session: WriteSession

  /// Returns the keyspace with this name, and creates it on first use.
  ///
  /// - Throws: `tooLarge` for an empty or too long name; `corrupt` or `io` if the catalog cannot be
  ///   read.
  public func keyspace(_ name: String) throws -> KeyspaceWriter {
    KeyspaceWriter(session: session, keyspace: try session.keyspace(name))
  }

  /// Removes a keyspace and all its entries; does nothing if there is none with this name.
  ///
  /// - Complexity: Every page of the keyspace is read once, to free it.
  public func removeKeyspace(_ name: String) throws {
    _ = try session.removeKeyspace(name)
  }

  /// Runs `body` and rolls back its changes if it throws; the transaction continues either way.
  ///
  /// Savepoints may be nested. After a rollback, keyspaces that were created in the savepoint no
  /// longer exist, and using them traps; those opened in it and created before the transaction can
  /// be used, and cursors find their position again.
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
  /// - Throws: Any error of `body`, unchanged; the error that interrupted an earlier change of the
  ///   transaction, before `body` is called.
  /// - Complexity: One more page of memory for each page `body` changes; no page read or written.
  public mutating func savepoint<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
    let session = session
    return try session.savepoint { try body(&self) }
  }

  /// The first frame it may write: no two committed transactions have the same, and a row with this
  /// base was written after every generation below it.
  package var base: UInt64 { session.pages.base }

  /// Calls `body` for every key whose entry in a snapshot differs from the generation this
  /// transaction builds on, as `Store.changes` does: the changes from that generation to the
  /// snapshot.
  ///
  /// That generation may be newer than any snapshot: its commit may still wait for its sync.
  ///
  /// - Throws: `foreignStore` for a snapshot of another opening of a store; `corrupt` or `io`; any
  ///   error of `body`.
  package func changes(to target: Snapshot, _ body: (StoreChange) throws -> Void) throws {
    session.requireOpen()
    guard target.state.files === session.pages.files else {
      throw StorageError(
        .foreignStore, "The snapshot belongs to another store, or to an earlier opening of it.")
    }
    defer { withExtendedLifetime(target) {} }
    guard session.pages.state.generation != target.state.generation else { return }
    try SnapshotDifference(from: session.pages.state, to: target.state).forEach(body)
  }

  /// The number of pages that the transaction has in memory; for tests.
  package var memoryPageCount: Int { session.pages.memoryPageCount }

  /// The names of all keyspaces, in order.
  public var keyspaceNames: [String] {
    get throws {
      session.requireOpen()
      return try Catalog.rows(in: session.pages.view).map(\.name)
    }
  }
}
