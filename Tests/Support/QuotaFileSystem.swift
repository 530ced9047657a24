package import HeartwoodEngine

/// A file system in memory with limited space, for tests of full disks.
///
/// The used space is the total length of all files. It grows when a file is extended, even if
/// nothing is written. Writing bytes within a file or punching holes does not change the used
/// space.
package final class QuotaFileSystem: FileSystem, @unchecked Sendable {
  // @unchecked because only the thread that runs the test uses `limit` and `boot`.
  private let inner = MemoryFileSystem()
  private let directory: String
  /// The maximum total length of the files in the directory.
  package var limit: UInt64
  /// The identity of the current boot of the simulated machine.
  package var boot: UInt64 = 1

  package init(directory: String, limit: UInt64) {
    self.directory = directory
    self.limit = limit
  }

  /// Returns the total length of all files in the directory.
  package func used() throws(StorageError) -> UInt64 {
    var total: UInt64 = 0
    for name in try inner.list(directory) ?? [] {
      total += try inner.open(directory + "/" + name, .read)?.byteCount() ?? 0
    }
    return total
  }

  fileprivate func reserve(_ count: UInt64, _ path: String) throws(StorageError) {
    guard try used() + count > limit else { return }
    throw StorageError(.diskFull, "The simulated disk is full.", file: path, errno: 28)
  }

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    guard let file = try inner.open(path, access) else { return nil }
    return QuotaFile(file, self)
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

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try inner.volumeType(of: path)
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    try inner.syncDirectory(path)
  }

  package var bootIdentity: UInt64? { boot }

  package var wallClockMilliseconds: UInt64 { inner.wallClockMilliseconds }

  package func random() -> UInt64 { inner.random() }
}

/// A file that cannot grow beyond the available space.
private final class QuotaFile: File {
  private let inner: any File
  private let fileSystem: QuotaFileSystem

  init(_ inner: any File, _ fileSystem: QuotaFileSystem) {
    self.inner = inner
    self.fileSystem = fileSystem
  }

  private func grow(to count: UInt64) throws(StorageError) {
    let now = try inner.byteCount()
    if count > now { try fileSystem.reserve(count - now, path) }
  }

  var path: String { inner.path }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    try inner.read(into: target, at: offset)
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    try grow(to: offset + parts.reduce(0) { $0 + UInt64($1.count) })
    try inner.write(parts, at: offset)
  }

  func byteCount() throws(StorageError) -> UInt64 { try inner.byteCount() }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    try grow(to: count)
    try inner.setByteCount(count)
  }

  func reserve(byteCount: UInt64) throws(StorageError) {
    try grow(to: byteCount)
    try inner.reserve(byteCount: byteCount)
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool { try inner.punch(range) }

  func allocatedByteCount() throws(StorageError) -> UInt64 { try inner.allocatedByteCount() }

  func sync() throws(StorageError) { try inner.sync() }

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? {
    try inner.map(offset, byteCount: byteCount)
  }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    try inner.mapShared(byteCount: byteCount)
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    try inner.lock(kind, range)
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    try inner.lockedByOthers(in: range)
  }

  func identity() throws(StorageError) -> FileIdentity { try inner.identity() }
}
