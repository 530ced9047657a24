extension FileSystem {
  /// Checks that the file system of `file` supports locks that belong to open files.
  ///
  /// A lock taken through one open file must be visible through another, and must outlast the
  /// closing of a third. Where locks belong to processes instead of open files it does not, and two
  /// openings of a store in one process would not exclude each other.
  ///
  /// - Parameter byte: A byte with no other use. The lock on it is shared, so that concurrent
  ///   probes do not disturb each other.
  /// - Throws: `unsupportedFileSystem` if the locks do not work.
  package func probeLocks(of file: any File, at byte: UInt64) throws(StorageError) {
    let range = byte..<(byte + 1)
    guard let second = try open(file.path, .read) else {
      throw StorageError(.io, "The file disappeared while its locks were tested.", file: file.path)
    }
    guard try file.lock(.shared, range) else {
      throw StorageError(
        .io,
        "Another program holds an exclusive lock on a byte that Heartwood only locks shared. Check "
          + "which other program locks this file.", file: file.path)
    }
    _ = try open(file.path, .read)
    let isSeen = try second.lockedByOthers(in: range) != nil
    _ = try file.lock(.none, range)
    guard isSeen else {
      throw StorageError(
        .unsupportedFileSystem,
        "Locks have no effect on this file system: one that was acquired is not visible. Keep the "
          + "store on a local disk.", file: file.path)
    }
  }
}
