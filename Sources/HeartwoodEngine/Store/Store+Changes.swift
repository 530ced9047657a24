extension Store {
  /// Calls `body` for every key whose entry differs between two generations, ordered by keyspace
  /// name and key.
  ///
  /// The changes lead from `source` to `target`, whichever is newer. A value that was rewritten
  /// with the same bytes is not a change, and neither is the creation or removal of a keyspace
  /// without entries. Names are ordered by their UTF-8 bytes, keys by their encoded bytes.
  ///
  /// - Parameters:
  ///   - source: The generation at which the changes start; a snapshot of this store.
  ///   - target: The generation to which the changes lead; a snapshot of this store.
  ///   - isWanted: A function that returns whether to compare the keyspace with the given name; if
  ///     omitted, all keyspaces are compared. Leaves of other keyspaces are not read.
  ///   - body: Called once for each key. It may read and write the store.
  /// - Throws: `foreignStore` for a snapshot of another store or of an earlier opening; `closed`;
  ///   `corrupt` or `io`; any error of `body`.
  /// - Complexity: A few reads of each page that was written or freed between the two generations,
  ///   and of the catalog, however large the store is. Needs memory for one key of each changed
  ///   leaf.
  public func changes(
    from source: Snapshot, to target: Snapshot,
    where isWanted: (_ keyspace: String) -> Bool = { _ in true },
    _ body: (StoreChange) throws -> Void
  ) throws {
    try requireOpen()
    try require(source)
    try require(target)
    defer { withExtendedLifetime((source, target)) {} }
    guard source.generation != target.generation else { return }
    try SnapshotDifference(from: source.state, to: target.state, where: isWanted).forEach(body)
  }
}
