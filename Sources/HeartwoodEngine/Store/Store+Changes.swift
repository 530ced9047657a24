extension Store {
  /// Calls `body` for every key whose entry differs between two generations, in the order of
  /// keyspace names and keys.
  ///
  /// The changes are those that turn `source` into `target`, whichever of the two is newer. A value
  /// that was rewritten with the same bytes is not a change, and neither is the creation or removal
  /// of a keyspace without entries. Names are ordered by their UTF-8 bytes, and keys by their
  /// encoded bytes.
  ///
  /// - Parameters:
  ///   - source: The snapshot before the changes, taken from this store.
  ///   - target: The snapshot after the changes, taken from this store.
  ///   - isWanted: A closure that receives the name of a keyspace, and returns whether to report
  ///     the changes in that keyspace. If it is omitted, the changes in all keyspaces are reported.
  ///   - body: A closure that is called once for each key. It may read and write the store.
  /// - Throws: `foreignStore` for a snapshot that was taken from another store, or from this store
  ///   before it was reopened; `closed`; `corrupt` or `io`; any error that `body` throws.
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
