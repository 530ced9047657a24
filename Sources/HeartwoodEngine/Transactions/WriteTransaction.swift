/// The next generation while it is made; valid within the closure of `Store.write` only.
///
/// It reads its own changes. Nothing of it is visible to others before the closure has returned and
/// the commit is done. Using it, one of its keyspaces or a cursor after the closure traps.
public struct WriteTransaction {
  let session: WriteSession

  /// The keyspace of this name, made on first use.
  ///
  /// - Throws: `tooLarge` for a name of no or too many bytes; `corrupt` or `io` if the catalog
  ///   cannot be read.
  public func keyspace(_ name: String) throws -> KeyspaceWriter {
    KeyspaceWriter(session: session, keyspace: try session.keyspace(name))
  }

  /// Removes a keyspace and everything in it; nothing happens if there is none of this name.
  ///
  /// - Complexity: Every page of the keyspace is read once, to give it back.
  public func removeKeyspace(_ name: String) throws {
    _ = try session.removeKeyspace(name)
  }

  /// Runs `body` and takes back all it has changed if it throws; the transaction goes on either
  /// way.
  ///
  /// Savepoints may be nested. After one was taken back, keyspaces that were made in it are gone,
  /// and using them traps; those opened in it and made before the transaction can be used, and
  /// cursors find their place again.
  ///
  /// ```swift
  /// try store.write { transaction in
  ///   for order in orders {
  ///     try? transaction.savepoint { try book(order, in: &$0) }
  ///   }
  /// }
  /// ```
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws, unchanged; what kept an earlier change of the transaction from
  ///   being finished, before `body` is called.
  /// - Complexity: A page of memory more for each page `body` changes; no page read or written.
  public mutating func savepoint<R>(
    _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
    let session = session
    return try session.savepoint { try body(&self) }
  }

  /// The first frame it may write: no two transactions that were committed have the same, and a row
  /// that carries it was written after every generation below it.
  package var base: UInt64 { session.pages.base }

  /// Calls `body` for every key under which a snapshot holds something else than the generation
  /// this transaction builds on, as `Store.changes` does: what leads from here to there.
  ///
  /// That generation may be newer than any snapshot: others may still wait for it to be synced.
  ///
  /// - Throws: `foreignStore` for a snapshot that another opening of a store made; `corrupt` or
  ///   `io`; what `body` throws.
  package func changes(
    to target: Snapshot, _ body: (StoreChange) throws -> Void
  ) throws {
    session.requireOpen()
    guard target.state.files === session.pages.files else {
      throw StorageError(
        .foreignStore, "The snapshot was made by another store, or before this one was opened.")
    }
    defer { withExtendedLifetime(target) {} }
    guard session.pages.state.generation != target.state.generation else { return }
    try SnapshotDifference(from: session.pages.state, to: target.state).forEach(body)
  }

  /// Pages the transaction has in memory; for tests.
  package var memoryPageCount: Int { session.pages.memoryPageCount }

  /// The names of all keyspaces, in order.
  public var keyspaceNames: [String] {
    get throws {
      session.requireOpen()
      return try Catalog.rows(in: session.pages.view).map(\.name)
    }
  }
}
