extension Store {
  /// Calls `body` for every key under which two generations hold different things, ordered by
  /// keyspace name and key.
  ///
  /// The changes lead from `source` to `target`, whichever is the newer. A value written again with
  /// the same bytes is no change, and neither is a keyspace without entries that comes or goes.
  /// Names are ordered by their UTF-8, keys by their encoded bytes.
  ///
  /// - Parameters:
  ///   - source: The generation the changes start at; a snapshot of this store.
  ///   - target: The generation they lead to; a snapshot of this store.
  ///   - isWanted: Says of which keyspaces the changes are wanted, by their names; of all if left
  ///     out. Leaves of others are passed over.
  ///   - body: Called once for each key. It may read and write the store.
  /// - Throws: `foreignStore` for a snapshot that another opening of a store made; `closed`;
  ///   `corrupt` or `io`; what `body` throws.
  /// - Complexity: A few reads of each page that was written or freed between the two generations,
  ///   and of the catalog, however large the store is; memory for a key of each changed leaf.
  public func changes(
    from source: Snapshot, to target: Snapshot,
    in isWanted: (_ keyspace: String) -> Bool = { _ in true },
    _ body: (StoreChange) throws -> Void
  ) throws {
    try requireOpen()
    guard source.state.files === files, target.state.files === files else {
      throw StorageError(
        .foreignStore,
        "The changes between two snapshots were asked for, but one of them was made by another "
          + "store, or before this one was opened.")
    }
    defer { withExtendedLifetime((source, target)) {} }
    guard source.generation != target.generation else { return }
    try SnapshotDifference(from: source.state, to: target.state, in: isWanted).forEach(body)
  }
}
