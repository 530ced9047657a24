extension FileSystem {
  /// Checks that the file system of `file` supports open-file-description locks, which belong to
  /// open files rather than to processes.
  ///
  /// A lock must remain set after another descriptor of the file is closed. Otherwise, two stores
  /// that one process opened at the same path would not exclude each other.
  ///
  /// - Parameter byte: A byte that is used only for probes. Concurrent probes may use the same
  ///   byte.
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
          + "mode. Find the program that has locked this file, and stop it.", file: file.path)
    }
    _ = try open(file.path, .read)
    let isSeen = try second.lockedByOthers(in: range) != nil
    _ = try file.lock(.none, range)
    guard isSeen else {
      throw StorageError(
        .unsupportedFileSystem,
        "File locks do not work on this file system: a lock set through one file descriptor is not "
          + "visible through another. Keep the store on a local disk.", file: file.path)
    }
  }
}
