/// A store that is closed in all processes, and that no process can open while this object exists.
///
/// The object holds the presence locks exclusively, just as a process does while it opens a store
/// that is not open elsewhere.
struct ClosedStore {
  private(set) var path: String
  private let fileSystem: any FileSystem
  private let locks: StoreLocks

  /// Locks the store at `path`, or returns `nil` if there is nothing at this path.
  ///
  /// - Parameter busyMilliseconds: The time to wait for processes that have the store open. A
  ///   process may need a moment to close a store whose last reference has just been released.
  /// - Throws: `busy` if a process has the store open, or `notAStore` if the directory contains
  ///   files that do not belong to a store.
  init?(
    at path: String, _ fileSystem: any FileSystem, busyMilliseconds: UInt64
  ) throws(StorageError) {
    self.path = path
    self.fileSystem = fileSystem
    guard let names = try fileSystem.list(path) else { return nil }
    if let foreign = names.filter({ !OpenSequence.isOfStore($0) }).min() {
      throw StorageError(
        .notAStore,
        "The directory contains files that do not belong to a store (such as \(foreign)). Check "
          + "the path, or move these files elsewhere.", file: path)
    }
    locks = StoreLocks(file: try fileSystem.create(path + "/locks"))
    let clock = SystemThread.monotonicMilliseconds
    for byte in [LockByte.presenceReadWrite, LockByte.presenceReadOnly] {
      while try !locks.tryLock(.exclusive, byte: byte) {
        guard SystemThread.monotonicMilliseconds - clock < busyMilliseconds else {
          throw Self.isOpen(path)
        }
        SystemThread.sleep(milliseconds: 1)
      }
    }
    // Fail if the path no longer refers to the locked directory. Another process may have moved or
    // replaced the directory before this method locked it.
    guard try fileSystem.identity(of: path + "/locks") == locks.file.identity() else {
      throw Self.isOpen(path)
    }
  }

  private static func isOpen(_ path: String) -> StorageError {
    StorageError(
      .busy,
      "The store is still open. Close it in all processes, and release its containers, contexts "
        + "and snapshots. Then try again.", file: path)
  }

  /// Durably renames the directory.
  ///
  /// - Throws: `io` if the paths are not on the same volume or the new path is in use.
  mutating func rename(to target: String) throws(StorageError) {
    try fileSystem.rename(path, to: target)
    let parents = Set([OpenSequence.parent(of: path), OpenSequence.parent(of: target)])
    path = target
    for parent in parents.sorted() { try fileSystem.syncDirectory(parent) }
  }

  /// Removes all files and the directory.
  ///
  /// The page file is removed first, so that the other files are never mistaken for a complete
  /// store. The `locks` file is removed last, so that a process that is waiting for the locks finds
  /// nothing to open.
  func remove() throws(StorageError) {
    try fileSystem.remove(path + "/pages")
    for name in try fileSystem.list(path) ?? [] where name != "locks" {
      try fileSystem.remove(path + "/" + name)
    }
    try fileSystem.remove(path + "/locks")
    try fileSystem.removeDirectory(path)
    try fileSystem.syncDirectory(OpenSequence.parent(of: path))
  }
}
