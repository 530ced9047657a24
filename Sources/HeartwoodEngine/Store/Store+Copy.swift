extension Store {
  /// Copies a snapshot into a new store.
  ///
  /// Other threads and processes can read and write this store during the copy.
  ///
  /// The copy is independent, with its own identity and history. The copy has the same page size
  /// and segment size, but no free pages and an empty log. This method writes the copy to `path`
  /// with `.partial` appended. The directory is renamed to `path` only when the copy is complete
  /// and synced, so an interrupted copy never leaves an incomplete store at `path`. The next copy
  /// to the same path removes the files left by an interrupted copy.
  ///
  /// Every copied page is verified. A copy of an in-memory store is also in memory.
  ///
  /// - Parameters:
  ///   - snapshot: A snapshot of this store.
  ///   - path: A path that does not exist yet. Its parent directory must exist.
  ///   - progress: A closure called on this thread each time another 1% of the pages has been
  ///     copied.
  /// - Throws: `invalidArgument` if `path` exists, `foreignStore` if the snapshot belongs to
  ///   another store, or `busy` while another copy to `path` is in progress. Also throws `closed`,
  ///   `io`, `diskFull` or `corrupt`.
  /// - Complexity: Reads each page in use once, writes it to the copy's log, and checkpoints it.
  public func copy(
    _ snapshot: Snapshot, to path: String, progress: ((StoreProgress) -> Void)? = nil
  ) throws {
    try requireOpen()
    try require(snapshot)
    try StoreCopy(snapshot, of: files, options, to: path, progress).run()
  }
}
