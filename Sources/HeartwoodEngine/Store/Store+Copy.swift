extension Store {
  /// Writes what a snapshot shows into a new store, while others read and write this one.
  ///
  /// The copy stands alone: it has an identity and a history of its own, the same page and segment
  /// size, no free pages, and nothing in its log. It is made in a folder with `.partial` behind its
  /// name, which is renamed at the end: at `path` there is the whole copy, synced, or nothing. What
  /// an interrupted copy left in that folder is removed by the next one to the same path.
  ///
  /// Every page that is copied is verified. A store in memory is copied within its own memory.
  ///
  /// - Parameters:
  ///   - snapshot: A snapshot of this store.
  ///   - path: Where nothing is yet; its folder must exist.
  ///   - progress: Called on this thread for each hundredth of the pages.
  /// - Throws: `invalidArgument` if there is something at `path`; `foreignStore` for a snapshot of
  ///   another store; `busy` while another copy to `path` is made; `closed`, `io`, `full` or
  ///   `corrupt`.
  /// - Complexity: Each page in use is read once, written to the log of the copy, and moved home.
  public func copy(
    _ snapshot: Snapshot, to path: String, progress: ((StoreProgress) -> Void)? = nil
  ) throws {
    try requireOpen()
    guard snapshot.belongs(to: table) else {
      throw StorageError(.foreignStore, "The snapshot was taken from another store.", file: path)
    }
    try StoreCopy(snapshot, of: files, options, to: path, progress).run()
  }
}
