/// A new store that is created in a temporary directory.
///
/// The directory is renamed to its final path once the store is complete.
struct PartialStore {
  private let fileSystem: any FileSystem
  private let path: String
  private let purpose: String
  private let origin = ProcessOrigin()
  /// The path of the temporary directory.
  let partialPath: String
  /// The permissions of the new files, or `nil` for the default permissions.
  var fileMode: UInt16?

  /// Prepares to create a store at `path`.
  ///
  /// - Parameter purpose: A noun that describes the new store in messages, such as "copy".
  init(at path: String, on fileSystem: any FileSystem, purpose: String) throws(StorageError) {
    let trimmed = OpenSequence.trimmed(path)
    guard !trimmed.isEmpty, trimmed != "/" else {
      throw StorageError(
        .invalidArgument,
        "A \(purpose) cannot be created at the root directory or at an empty path. Specify the "
          + "path of a new directory.", file: path)
    }
    self.fileSystem = fileSystem
    self.purpose = purpose
    self.path = trimmed
    partialPath = trimmed + ".partial"
  }

  /// Calls `fill` to write and close a store at the temporary path, and then renames the store.
  ///
  /// - Throws: `invalidArgument` if the final path exists, `unsupportedFileSystem` if the volume
  ///   cannot contain a store, or `busy` if another process is creating a store at the path. If
  ///   `fill` throws an error, this method removes the incomplete store and rethrows the error. If
  ///   only the final sync of the parent directory fails, this method throws `io`, and the complete
  ///   store is at the path.
  func create(_ fill: () throws -> Void) throws {
    try fileSystem.volumeType(of: OpenSequence.parent(of: path))?.requireSupported(path)
    try requireUnused()
    let locks = try lock()
    defer { try? locks.unlock(byte: LockByte.creation) }
    do {
      try fill()
      try fileSystem.syncDirectory(partialPath)
      // Check the path again, because another process may have created a file or directory there.
      try requireUnused()
      try fileSystem.rename(partialPath, to: path)
    } catch {
      // Remove the incomplete store to free its space, because the disk may be full.
      try? remove()
      throw error
    }
    do throws(StorageError) {
      try fileSystem.syncDirectory(OpenSequence.parent(of: path))
    } catch {
      // Do not remove the store. If a power cut then restored its name, but not its files, an
      // incomplete store would be at the path.
      var error = error
      error.message += " The new store is complete, but it may be lost in a power cut."
      throw error
    }
  }

  private func requireUnused() throws(StorageError) {
    let isUsed: Bool
    do throws(StorageError) {
      isUsed = try fileSystem.list(path) != nil
    } catch {
      guard error.kind == .notAStore else { throw error }
      isUsed = true
    }
    guard !isUsed else {
      throw StorageError(
        .invalidArgument,
        "A file or directory already exists at this path, and creating a \(purpose) never replaces "
          + "existing files. Choose a different path.",
        file: path)
    }
  }

  /// Creates and locks the temporary directory, and removes the files left by an interrupted
  /// attempt to create a store at the same path.
  private func lock() throws(StorageError) -> StoreLocks {
    if let foreign = try fileSystem.list(partialPath)?.filter({ !OpenSequence.isOfStore($0) }).min()
    {
      throw StorageError(
        .invalidArgument,
        "The new store needs this directory for temporary files, but the directory already "
          + "contains other files (such as \(foreign)). Move those files, or choose a different "
          + "path for the new store.",
        file: partialPath)
    }
    try fileSystem.createDirectory(partialPath)
    let path = partialPath + "/locks"
    let locks = StoreLocks(
      file: try fileSystem.entering(partialPath, newFileMode: fileMode).create(path))
    // Check that the locked file is still at this path, because another process may have renamed
    // the directory before this process locked the file.
    guard try locks.tryLock(.exclusive, byte: LockByte.creation),
      try fileSystem.identity(of: path) == locks.file.identity(),
      try !locks.isLockedElsewhere(byte: LockByte.presenceReadWrite)
    else {
      throw StorageError(
        .busy,
        "Another process is creating a store at this path. Wait until that process has finished, "
          + "and then try again.",
        file: partialPath)
    }
    // Set the permissions now, because another process may have created the directory with others.
    try fileSystem.createDirectory(partialPath, forFilesOf: fileMode)
    try removeFiles()
    return locks
  }

  private func remove() throws(StorageError) {
    try removeFiles()
    try fileSystem.remove(partialPath + "/locks")
    try fileSystem.removeDirectory(partialPath)
  }

  /// Removes all files except `locks`, whose lock shows that a process is creating a store.
  private func removeFiles() throws(StorageError) {
    // Remove nothing in a forked child process, because the parent still uses the files.
    try origin.requireOwn(partialPath)
    for name in try fileSystem.list(partialPath) ?? [] where name != "locks" {
      try fileSystem.remove(partialPath + "/" + name)
    }
  }
}
