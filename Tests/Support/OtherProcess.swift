package import HeartwoodEngine

/// A file system as another process sees it: the same files, and openings that share nothing with
/// this one's.
package final class OtherProcess: FileSystem {
  private let inner: any FileSystem

  package init(_ inner: any FileSystem) { self.inner = inner }

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    try inner.open(path, access)
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    try inner.createDirectory(path)
  }

  package func list(_ path: String) throws(StorageError) -> [String]? { try inner.list(path) }

  package func remove(_ path: String) throws(StorageError) { try inner.remove(path) }

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
  /// The same place as another process sees it.
  package func elsewhere() -> StoreFixture {
    with(OtherProcess(fileSystem))
  }
}
