/// The result of a backup.
public struct BackupReport: Hashable, Sendable {
  /// The generation that the backup directory now contains.
  public var generation: Generation
  /// The names of the files that were added; empty if nothing has changed since the last backup.
  public var files: [String] = []
  /// The number of bytes in these files.
  public var byteCount = 0
}

extension Store {
  /// Adds the newest generation of this store to a backup directory.
  ///
  /// The first backup writes a file with all pages in use. Later ones write only the pages that
  /// have changed since the previous backup, whose generation the store keeps under a name for that
  /// purpose. If that name has been released, the file has all pages again. Generations that are
  /// kept under other names can be restored too if they are newer than the previous backup.
  ///
  /// Other threads and processes can read and write this store meanwhile. A file gets its name when
  /// it is complete and synced, and never changes afterwards, so that other programs can copy the
  /// directory at any time. After a crash, the next backup continues from the newest complete file.
  ///
  /// - Parameters:
  ///   - path: The path of a directory, which is created if it does not exist.
  ///   - progress: A closure that is called on this thread each time another hundredth of the pages
  ///     of a file has been written.
  /// - Throws: `busy` while another backup to the directory is in progress; `foreignStore` if the
  ///   directory belongs to another store, or to a state that this store does not descend from;
  ///   `notAStore` if it contains other files; `readOnly`, `closed`, `corrupt`, `writesDisabled`,
  ///   `io` or `diskFull`. The store is not affected.
  /// - Complexity: Reads and writes each page that has changed; for each file, two syncs and those
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
