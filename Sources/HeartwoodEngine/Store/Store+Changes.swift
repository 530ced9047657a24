extension Store {
  /// Calls `body` for every key whose entry differs between two generations.
  ///
  /// The calls are ordered by keyspace name, and then by key. Names are ordered by their UTF-8
  /// bytes, and keys by their encoded bytes. The changes turn `source` into `target`, whichever of
  /// the two is newer. Rewriting a value with the same bytes is not a change, and neither is
  /// creating or removing an empty keyspace.
  ///
  /// - Parameters:
  ///   - source: The snapshot before the changes, taken from this store.
  ///   - target: The snapshot after the changes, taken from this store.
  ///   - isWanted: A closure that receives the name of a keyspace, and returns whether to report
  ///     the changes in that keyspace. By default, the changes in all keyspaces are reported.
  ///   - body: A closure that is called once for each key. It may read and write the store.
  /// - Throws: `foreignStore` if a snapshot was taken from another store, or from this store before
  ///   it was reopened. Also throws `closed`, `corrupt`, `io`, and any error that `body` throws.
  /// - Complexity: The cost depends on the number of changes, not on the size of the store. The
  ///   catalog and each page that was written or freed between the two generations are read a few
  ///   times. One key of each changed leaf is kept in memory.
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
