/// Operations that remove, move and replace stores that no process has open.
///
/// A store is renamed before it is removed, so that a crash leaves either the complete store or
/// nothing at its path. A crash may interrupt a replacement before the new store is at the path. In
/// that case, the next process that opens the store renames the old store back.
package struct StoreReplacement {
  private let fileSystem: any FileSystem
  private let busyMilliseconds: UInt64

  package init(_ fileSystem: any FileSystem, busyMilliseconds: UInt64) {
    self.fileSystem = fileSystem
    self.busyMilliseconds = busyMilliseconds
  }

  // Use names that other stores are unlikely to have, because a store with one of these names would
  // be mistaken for the remains of an interrupted call.
  private static func removedPath(_ path: String) -> String { path + ".heartwood-removed" }
  private static func replacedPath(_ path: String) -> String { path + ".heartwood-replaced" }

  package func destroy(_ path: String) throws(StorageError) {
    try Self.undoInterrupted(at: path, fileSystem)
    try clear(path)
    guard var store = try existing(path) else { return }
    try store.rename(to: Self.removedPath(path))
    try store.remove()
  }

  package func move(_ source: String, to target: String) throws(StorageError) {
    for path in [source, target] { try Self.undoInterrupted(at: path, fileSystem) }
    try requireUnused(target)
    var store = try required(source)
    try clear(source)
    try store.rename(to: target)
  }

  package func replace(_ path: String, with source: String) throws(StorageError) {
    for path in [path, source] { try Self.undoInterrupted(at: path, fileSystem) }
    try clear(path)
    var new = try required(source)
    try clear(source)
    guard var old = try existing(path) else { return try new.rename(to: path) }
    try old.rename(to: Self.replacedPath(path))
    do {
      try new.rename(to: path)
    } catch {
      // Rename the old store back. If the new store already has its final name, renaming fails, and
      // the new store stays in place.
      try? old.rename(to: path)
      throw error
    }
    try old.remove()
  }

  /// Renames the old store back if a replacement at this path was interrupted.
  static func undoInterrupted(
    at path: String, _ fileSystem: any FileSystem
  ) throws(StorageError) {
    let path = OpenSequence.trimmed(fileSystem.resolvingLinks(OpenSequence.trimmed(path)))
    guard try fileSystem.list(path) == nil,
      let names = try fileSystem.list(replacedPath(path)), names.contains("pages"),
      names.allSatisfy(OpenSequence.isOfStore)
    else { return }
    do throws(StorageError) {
      try fileSystem.rename(replacedPath(path), to: path)
      try fileSystem.syncDirectory(OpenSequence.parent(of: path))
    } catch {
      // Another process may have renamed the store back or completed the replacement. Throw the
      // error only if there is nothing at the path.
      guard try fileSystem.list(path) != nil else { throw error }
    }
  }

  /// Removes the files that interrupted calls left behind for the store at `path`.
  ///
  /// Call this method before moving the store at `path` elsewhere. Otherwise, an older store that
  /// was left behind by an interrupted replacement would be renamed back to `path`.
  private func clear(_ path: String) throws(StorageError) {
    for rest in [Self.removedPath(path), Self.replacedPath(path)] { try closed(rest)?.remove() }
  }

  private func closed(_ path: String) throws(StorageError) -> ClosedStore? {
    try ClosedStore(at: path, fileSystem, busyMilliseconds: busyMilliseconds)
  }

  /// Locks the store at `path`, or returns `nil` if there is nothing at the path, or only an empty
  /// directory.
  private func existing(_ path: String) throws(StorageError) -> ClosedStore? {
    guard let names = try fileSystem.list(path), !names.isEmpty else { return nil }
    guard OpenSequence.isStore(names) else {
      throw StorageError(
        .notAStore, "The directory contains files, but no store. Check the path.", file: path)
    }
    return try closed(path)
  }

  private func required(_ path: String) throws(StorageError) -> ClosedStore {
    guard try fileSystem.list(path)?.contains("pages") == true, let store = try closed(path) else {
      throw StorageError(
        .notAStore, "There is no store at this path. Check the path.", file: path)
    }
    return store
  }

  private func requireUnused(_ path: String) throws(StorageError) {
    guard try fileSystem.list(path) == nil else {
      throw StorageError(
        .invalidArgument,
        "A file or directory already exists at this path, and moving a store never replaces "
          + "existing files. Choose a different path.",
        file: path)
    }
  }
}

extension Store {
  /// Removes a store and all its data.
  ///
  /// The method does nothing if there is nothing at the path, or only an empty directory.
  ///
  /// After a crash, the store is either complete or gone. If the store is gone, calling this method
  /// again removes any remaining files.
  ///
  /// - Parameters:
  ///   - path: The path of the store.
  ///   - busyTimeout: The maximum time to wait until no process has the store open.
  /// - Throws: `busy` if the store is open in this or another process, `notAStore` if the directory
  ///   contains no store or also contains other files, or `io`. If the store is still at its path
  ///   after an error, nothing has changed.
  /// - Complexity: Removes each file of the store, and performs two directory syncs.
  public static func destroy(
    at path: String, busyTimeout: Duration = .seconds(1)
  ) throws {
    try StoreReplacement(PosixFileSystem(), busyMilliseconds: busyTimeout.milliseconds)
      .destroy(directory(path))
  }

  /// Moves a store to another path on the same volume.
  ///
  /// The store keeps its identity, and tokens stay valid. After a crash, the store is at one of the
  /// two paths.
  ///
  /// - Parameters:
  ///   - source: The path of a store.
  ///   - target: A path that does not exist yet. Its parent directory must exist.
  ///   - busyTimeout: The maximum time to wait until no process has the store open.
  /// - Throws: `busy` if the store is open in this or another process, `invalidArgument` if
  ///   `target` exists, `notAStore`, or `io`, for example if the paths are on different volumes.
  /// - Complexity: One directory rename, and at most two directory syncs.
  public static func move(
    from source: String, to target: String, busyTimeout: Duration = .seconds(1)
  ) throws {
    try StoreReplacement(PosixFileSystem(), busyMilliseconds: busyTimeout.milliseconds)
      .move(directory(source), to: directory(target))
  }

  /// Replaces the store at a path by moving another store on the same volume to that path.
  ///
  /// To keep the store at `source`, copy it first and pass the path of the copy. After a crash, the
  /// next process that opens the store finds either the complete old store or the complete new
  /// store.
  ///
  /// - Parameters:
  ///   - path: The path of the store to replace, or a path without a store.
  ///   - source: The path of the store that is moved to `path`.
  ///   - busyTimeout: The maximum time to wait until no process has either store open.
  /// - Throws: `busy` if one of the stores is open in this or another process, `notAStore`, or
  ///   `io`. If the call throws before the new store is at `path`, nothing has changed.
  /// - Complexity: Two directory renames, the removal of each file of the old store, and at most
  ///   five directory syncs.
  public static func replace(
    at path: String, with source: String, busyTimeout: Duration = .seconds(1)
  ) throws {
    try StoreReplacement(PosixFileSystem(), busyMilliseconds: busyTimeout.milliseconds)
      .replace(directory(path), with: directory(source))
  }

  /// Returns `path` with symbolic links resolved.
  ///
  /// Renaming a link would not move the directory that it refers to.
  private static func directory(_ path: String) -> String {
    OpenSequence.trimmed(PosixFileSystem().resolvingLinks(OpenSequence.trimmed(path)))
  }
}
