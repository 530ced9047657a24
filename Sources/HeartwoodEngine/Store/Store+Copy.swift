extension Store {
  /// Copies a snapshot into a new store, while other threads and processes read and write this one.
  ///
  /// The copy is independent: it has its own identity and history, the same page and segment size,
  /// no free pages, and an empty log. It is created in a directory with `.partial` appended to its
  /// name, which is renamed at the end. At `path`, there is therefore either a complete, synced
  /// copy or nothing. The next copy to the same path removes the remains of an interrupted copy.
  ///
  /// Every copied page is verified. The copy of a store in memory is in memory too.
  ///
  /// - Parameters:
  ///   - snapshot: A snapshot of this store.
  ///   - path: A path that does not exist yet; its parent directory must exist.
  ///   - progress: Called on this thread for each hundredth of the pages.
  /// - Throws: `invalidArgument` if `path` exists; `foreignStore` for a snapshot of another store;
  ///   `busy` while another copy to `path` is in progress; `closed`, `io`, `diskFull` or `corrupt`.
  /// - Complexity: Each page in use is read once, written to the log of the copy, and checkpointed.
  public func copy(
    _ snapshot: Snapshot, to path: String, progress: ((StoreProgress) -> Void)? = nil
  ) throws {
    try requireOpen()
    try require(snapshot)
    try StoreCopy(snapshot, of: files, options, to: path, progress).run()
  }
}
