/// The result of a backup.
public struct BackupReport: Hashable, Sendable {
  /// The newest generation in the backup directory after the backup.
  public var generation: Generation
  /// The names of the added files.
  ///
  /// The array is empty if nothing has changed since the last backup.
  public var files: [String] = []
  /// The total size of the added files in bytes.
  public var byteCount = 0
}

extension Store {
  /// Adds the newest generation of this store to a backup directory.
  ///
  /// The first backup writes a file with all pages in use. Later backups write only the pages
  /// changed since the previous backup. The store keeps the generation of the previous backup under
  /// a name. If that name has been released, the next file contains all pages again. Generations
  /// that are newer than the previous backup and are kept under other names are also backed up.
  ///
  /// Other threads and processes can read and write this store during the backup. A file gets its
  /// final name when it is complete and synced, and never changes afterwards. Other programs can
  /// therefore copy the directory at any time. After a crash, the next backup continues from the
  /// newest complete file.
  ///
  /// - Parameters:
  ///   - path: The path of a directory, which is created if it does not exist.
  ///   - progress: A closure called on this thread each time another 1% of a file's pages has been
  ///     written.
  /// - Throws: `busy` while another backup to the directory is in progress. Throws `foreignStore`
  ///   if the directory belongs to another store, or to a state that this store does not descend
  ///   from. Throws `notAStore` if the directory contains other files. Also throws `readOnly`,
  ///   `closed`, `corrupt`, `writesDisabled`, `io` or `diskFull`. Errors do not affect the store.
  /// - Complexity: Reads and writes each changed page. For each file, performs two syncs plus those
  ///   of ``keep(_:as:)`` and ``release(_:)``.
  @discardableResult
  public func backup(
    to path: String, progress: ((StoreProgress) -> Void)? = nil
  ) throws -> BackupReport {
    try requireWritable()
    var run = try BackupRun(self, to: path, progress)
    return try run.run()
  }
}
