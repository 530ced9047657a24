extension FileSystem {
  /// Checks that locks of open files work where `file` is.
  ///
  /// A lock taken through one opening must be seen through another, and must outlast the closing of
  /// a third: where locks belong to processes and not to open files, it does not, and two openings
  /// of a store in one process would not exclude each other.
  ///
  /// - Parameter byte: One that nothing else uses. Its lock is shared, so that those who look at
  ///   the same time do not disturb each other.
  /// - Throws: `unsupportedFileSystem` if they do not work.
  package func probeLocks(of file: any File, at byte: UInt64) throws(StorageError) {
    let range = byte..<(byte + 1)
    guard let second = try open(file.path, .read) else {
      throw StorageError(.io, "The file vanished while its locks were tried.", file: file.path)
    }
    guard try file.lock(.shared, range) else {
      throw StorageError(
        .io, "Something holds an exclusive lock where no Heartwood store takes one.",
        file: file.path)
    }
    _ = try open(file.path, .read)
    let isSeen = try second.lockedByOthers(in: range) != nil
    _ = try file.lock(.none, range)
    guard isSeen else {
      throw StorageError(
        .unsupportedFileSystem,
        "Locks have no effect on this file system: one that was taken is not there. Keep the store "
          + "on a local disk.", file: file.path)
    }
  }
}
