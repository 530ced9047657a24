extension FileSystem {
  /// Checks that the file system of `file` supports open-file-description locks, which belong to
  /// open files rather than to processes.
  ///
  /// The file is opened three times. A lock that is set through the first descriptor must be
  /// visible through the second one, and must remain set after the third one is closed. If locks
  /// belonged to processes instead, closing the third descriptor would release the lock, and two
  /// stores that one process opened at the same path would not exclude each other.
  ///
  /// - Parameter byte: The byte to lock, which must be used for nothing else. The probe locks it in
  ///   shared mode, so that concurrent probes do not disturb each other.
  /// - Throws: `unsupportedFileSystem` if the locks do not work.
  package func probeLocks(of file: any File, at byte: UInt64) throws(StorageError) {
    let range = byte..<(byte + 1)
    guard let second = try open(file.path, .read) else {
      throw StorageError(
        .io, "The file disappeared while its locks were being tested. Try again.", file: file.path)
    }
    guard try file.lock(.shared, range) else {
      throw StorageError(
        .io,
        "Another program holds an exclusive lock on a byte that Heartwood locks only in shared "
          + "mode. Find and stop the program that is locking this file.", file: file.path)
    }
    _ = try open(file.path, .read)
    let isSeen = try second.lockedByOthers(in: range) != nil
    _ = try file.lock(.none, range)
    guard isSeen else {
      throw StorageError(
        .unsupportedFileSystem,
        "File locks do not work on this file system: a lock that was set through one descriptor is "
          + "not visible through another. Keep the store on a local disk.", file: file.path)
    }
  }
}
