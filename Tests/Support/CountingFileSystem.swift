package import HeartwoodEngine

/// A file system that forwards all calls to another file system and counts them.
///
/// Reads of mapped memory are not counted, because they are not calls.
package final class CountingFileSystem: FileSystem {
  private let inner: any FileSystem
  private let counter: CallCounter
  /// The wrapper on which `entering` was first called.
  ///
  /// Its address identifies the domain, so it is retained to keep the address from being reused.
  private let outer: CountingFileSystem?

  package convenience init(_ inner: any FileSystem) { self.init(inner, CallCounter(), nil) }

  private init(_ inner: any FileSystem, _ counter: CallCounter, _ outer: CountingFileSystem?) {
    self.inner = inner
    self.counter = counter
    self.outer = outer
  }

  /// The domain, shared by all wrappers of the same file system.
  package var domain: ObjectIdentifier { ObjectIdentifier(outer ?? self) }

  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem {
    counter.add { $0.others += 1 }
    return CountingFileSystem(
      try inner.entering(path, newFileMode: newFileMode), counter, outer ?? self)
  }

  package func createDirectory(
    _ path: String, forFilesOf mode: UInt16?
  ) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.createDirectory(path, forFilesOf: mode)
  }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    counter.add { $0.names += 1 }
    return try inner.identity(of: path)
  }

  package func mode(of path: String) throws(StorageError) -> UInt16? {
    counter.add { $0.others += 1 }
    return try inner.mode(of: path)
  }

  package func stamp(of path: String) throws(StorageError) -> DirectoryStamp? {
    counter.add { $0.stamps += 1 }
    return try inner.stamp(of: path)
  }

  /// The counts so far.
  ///
  /// To count the calls of an operation, subtract the value before the operation from the value
  /// after it.
  package var counts: CallCounts { counter.counts }

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    counter.add { $0.opens += 1 }
    guard let file = try inner.open(path, access) else { return nil }
    return CountingFile(file, counter)
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.createDirectory(path)
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    counter.add { $0.others += 1 }
    return try inner.list(path)
  }

  package func remove(_ path: String) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.remove(path)
  }

  package func removeDirectory(_ path: String) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.removeDirectory(path)
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.rename(source, to: target)
  }

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    counter.add { $0.others += 1 }
    return try inner.volumeType(of: path)
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    counter.add { $0.directorySyncCount += 1 }
    try inner.syncDirectory(path)
  }

  package func watch(_ path: String) -> (any FileWatch)? {
    counter.add { $0.others += 1 }
    return inner.watch(path)
  }

  package var bootIdentity: UInt64? { inner.bootIdentity }

  package var wallClockMilliseconds: UInt64 { inner.wallClockMilliseconds }

  package func random() -> UInt64 { inner.random() }
}

/// Counts the calls to a file system and all its files.
///
/// - Note: `@unchecked` because the counts are accessed only under `lock`.
private final class CallCounter: @unchecked Sendable {
  private let lock = Lock()
  private var value = CallCounts()

  var counts: CallCounts { lock.withLock { value } }

  func add(_ change: (inout CallCounts) -> Void) { lock.withLock { change(&value) } }
}

/// An open file of a counting file system.
private final class CountingFile: File {
  private let inner: any File
  private let counter: CallCounter

  init(_ inner: any File, _ counter: CallCounter) {
    self.inner = inner
    self.counter = counter
  }

  var path: String { inner.path }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    counter.add { $0.reads += 1 }
    let count = try inner.read(into: target, at: offset)
    counter.add { $0.bytesRead += count }
    return count
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    counter.add { $0.writes += 1 }
    try inner.write(parts, at: offset)
    counter.add { $0.bytesWritten += parts.reduce(0) { $0 + $1.count } }
  }

  func byteCount() throws(StorageError) -> UInt64 {
    counter.add { $0.others += 1 }
    return try inner.byteCount()
  }

  func reserve(byteCount: UInt64) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.reserve(byteCount: byteCount)
  }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    counter.add { $0.others += 1 }
    try inner.setByteCount(count)
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    counter.add { $0.others += 1 }
    return try inner.punch(range)
  }

  func allocatedByteCount() throws(StorageError) -> UInt64 {
    counter.add { $0.others += 1 }
    return try inner.allocatedByteCount()
  }

  func sync() throws(StorageError) {
    counter.add { $0.syncs += 1 }
    try inner.sync()
  }

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? {
    counter.add { $0.maps += 1 }
    return try inner.map(offset, byteCount: byteCount)
  }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    counter.add { $0.maps += 1 }
    return try inner.mapShared(byteCount: byteCount)
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    counter.add { $0.locks += 1 }
    return try inner.lock(kind, range)
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    counter.add { $0.locks += 1 }
    return try inner.lockedByOthers(in: range)
  }

  func identity() throws(StorageError) -> FileIdentity {
    counter.add { $0.others += 1 }
    return try inner.identity()
  }

  func touch() throws(StorageError) {
    counter.add { $0.touches += 1 }
    try inner.touch()
  }
}
