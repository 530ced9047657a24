package import HeartwoodEngine

/// A file system as seen by another process.
///
/// It contains the same files as the original file system. However, stores opened through it share
/// no state with stores that are opened directly in this process.
package final class OtherProcess: FileSystem {
  private let inner: any FileSystem

  /// The wrapper on which `entering` was first called.
  ///
  /// Its address identifies the domain, so it is retained to keep the address from being reused.
  private let outer: OtherProcess?

  package convenience init(_ inner: any FileSystem) { self.init(inner, nil) }

  private init(_ inner: any FileSystem, _ outer: OtherProcess?) {
    self.inner = inner
    self.outer = outer
  }

  /// The domain of all wrappers of the same file system, which together simulate one process.
  package var domain: ObjectIdentifier { ObjectIdentifier(outer ?? self) }

  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem {
    OtherProcess(try inner.entering(path, newFileMode: newFileMode), outer ?? self)
  }

  package func createDirectory(
    _ path: String, forFilesOf mode: UInt16?
  ) throws(StorageError) {
    try inner.createDirectory(path, forFilesOf: mode)
  }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    try inner.identity(of: path)
  }

  package func mode(of path: String) throws(StorageError) -> UInt16? { try inner.mode(of: path) }

  package func stamp(of path: String) throws(StorageError) -> DirectoryStamp? {
    try inner.stamp(of: path)
  }

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    try inner.open(path, access)
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    try inner.createDirectory(path)
  }

  package func list(_ path: String) throws(StorageError) -> [String]? { try inner.list(path) }

  package func remove(_ path: String) throws(StorageError) { try inner.remove(path) }

  package func removeDirectory(_ path: String) throws(StorageError) {
    try inner.removeDirectory(path)
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    try inner.rename(source, to: target)
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    try inner.syncDirectory(path)
  }

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try inner.volumeType(of: path)
  }

  package func watch(_ path: String) -> (any FileWatch)? { inner.watch(path) }

  package var bootIdentity: UInt64? { inner.bootIdentity }

  package var wallClockMilliseconds: UInt64 { inner.wallClockMilliseconds }

  package func random() -> UInt64 { inner.random() }
}

extension StoreFixture {
  /// Returns a fixture that accesses the same store as if from another process.
  package func elsewhere() -> StoreFixture {
    with(OtherProcess(fileSystem))
  }
}
