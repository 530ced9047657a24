extension Store {
  /// Calls `body` for every key whose entry differs between two generations, ordered by keyspace
  /// name and key.
  ///
  /// The changes are those that turn `source` into `target`, whichever of the two is newer. A value
  /// that was rewritten with the same bytes is not a change, and neither is the creation or removal
  /// of a keyspace without entries. Names are ordered by their UTF-8 bytes, and keys by their
  /// encoded bytes.
  ///
  /// - Parameters:
  ///   - source: A snapshot of this store at the first generation.
  ///   - target: A snapshot of this store at the second generation.
  ///   - isWanted: A function that returns whether to compare the keyspace with the given name. If
  ///     it is omitted, all keyspaces are compared.
  ///   - body: A closure that is called once for each key. It may read and write the store.
  /// - Throws: `foreignStore` for a snapshot that was taken from another store, or from this store
  ///   before it was reopened; `closed`; `corrupt` or `io`; any error of `body`.
  /// - Complexity: Reads the catalog, and each page that was written or freed between the two
  ///   generations, a few times, regardless of the size of the store. Needs memory for one key of
  ///   each changed leaf.
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
