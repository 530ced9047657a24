package import HeartwoodEngine

/// A file system that forwards every call to another file system and invokes a test's hooks.
///
/// Files cannot be watched through this file system, and touching a file wakes no other process.
///
/// - Note: `@unchecked` because only the thread that runs the test uses the hooks.
package final class ObservedFileSystem: FileSystem, @unchecked Sendable {
  private let inner: any FileSystem
  /// The wrapper that has the hooks: the one on which `entering` was first called.
  ///
  /// Its address identifies the domain, so it is retained to keep the address from being reused.
  private let outer: ObservedFileSystem?
  /// A Boolean value that indicates whether the system provides a boot identity.
  package var hasBootIdentity = true
  /// Called before a lock is set, converted or released.
  package var onLock: ((LockKind, Range<UInt64>) -> Void)?
  /// Called before a query for locks held by other owners.
  package var onQuestion: (() -> Void)?

  /// Called with the path before a file is mapped; if it throws, the mapping fails with that error.
  package var onMap: ((String) throws(StorageError) -> Void)?

  /// Called with the path and the offset before a file is written; if it throws, the write fails
  /// with that error.
  package var onWrite: ((String, UInt64) throws(StorageError) -> Void)?

  /// Called with the path and the offset after a file has been read.
  package var onRead: ((String, UInt64) throws(StorageError) -> Void)?

  /// Called before the names in a directory are synced.
  package var onDirectorySync: (() throws(StorageError) -> Void)?

  /// Called with the path before a file is synced.
  package var onSync: ((String) -> Void)?

  /// A Boolean value that indicates whether files seem to occupy no space on disk.
  package var hidesDiskUsage = false

  /// A resource that a call needs in order to succeed.
  package enum Demand: CaseIterable, Sendable {
    case descriptor, newFile, memory, space, quota, directory
  }

  /// Called with the path before each call that needs a resource; if it throws, the call fails with
  /// that error.
  package var onDemand: ((Demand, String) throws(StorageError) -> Void)?

  package convenience init(_ inner: any FileSystem) { self.init(inner, nil) }

  private init(_ inner: any FileSystem, _ outer: ObservedFileSystem?) {
    self.inner = inner
    self.outer = outer
  }

  private var observed: ObservedFileSystem { outer ?? self }

  /// The domain, shared by all wrappers of the same file system.
  package var domain: ObjectIdentifier { ObjectIdentifier(observed) }

  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem {
    try ObservedFileSystem.run { () throws(StorageError) in
      try observed.onDemand?(.descriptor, path)
    }
    return ObservedFileSystem(try inner.entering(path, newFileMode: newFileMode), observed)
  }

  package func createDirectory(
    _ path: String, forFilesOf mode: UInt16?
  ) throws(StorageError) {
    try ObservedFileSystem.run { () throws(StorageError) in
      try observed.onDemand?(.directory, path)
    }
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
    if let onDemand = observed.onDemand {
      let isThere = access == .create ? try inner.open(path, .read) != nil : true
      try ObservedFileSystem.run { () throws(StorageError) in
        try onDemand(isThere ? .descriptor : .newFile, path)
      }
    }
    guard let file = try inner.open(path, access) else { return nil }
    return ObservedFile(file, observed)
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    try ObservedFileSystem.run { () throws(StorageError) in
      try observed.onDemand?(.directory, path)
    }
    try inner.createDirectory(path)
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    try ObservedFileSystem.run { () throws(StorageError) in
      try observed.onDemand?(.descriptor, path)
    }
    return try inner.list(path)
  }

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
    try ObservedFileSystem.run { () throws(StorageError) in
      try observed.onDemand?(.descriptor, path)
    }
    try ObservedFileSystem.run { () throws(StorageError) in
      try observed.onDirectorySync?()
    }
    try inner.syncDirectory(path)
  }

  /// Calls a hook.
  ///
  /// The hook simulates other threads and processes, so it runs as if none of the locks of the
  /// current call were held.
  fileprivate static func run(_ hook: () throws(StorageError) -> Void) throws(StorageError) {
    try LockOrder.asAnother { () throws(StorageError) in try hook() }
  }

  fileprivate static func runQuietly(_ hook: () -> Void) {
    try? LockOrder.asAnother { () throws(StorageError) in hook() }
  }

  /// Calls the hook `onDemand` for disk space, and then for the user's quota.
  fileprivate func demandSpace(_ path: String) throws(StorageError) {
    try ObservedFileSystem.run { () throws(StorageError) in
      try onDemand?(.space, path)
    }
    try ObservedFileSystem.run { () throws(StorageError) in
      try onDemand?(.quota, path)
    }
  }

  package var bootIdentity: UInt64? { observed.hasBootIdentity ? inner.bootIdentity : nil }

  package var wallClockMilliseconds: UInt64 { inner.wallClockMilliseconds }

  package func random() -> UInt64 { inner.random() }
}

/// An open file of an observed file system.
private final class ObservedFile: File {
  private let inner: any File
  private let fileSystem: ObservedFileSystem

  init(_ inner: any File, _ fileSystem: ObservedFileSystem) {
    self.inner = inner
    self.fileSystem = fileSystem
  }

  var path: String { inner.path }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    let count = try inner.read(into: target, at: offset)
    try ObservedFileSystem.run { () throws(StorageError) in
      try fileSystem.onRead?(path, offset)
    }
    return count
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    try fileSystem.demandSpace(path)
    try ObservedFileSystem.run { () throws(StorageError) in
      try fileSystem.onWrite?(path, offset)
    }
    try inner.write(parts, at: offset)
  }

  func byteCount() throws(StorageError) -> UInt64 { try inner.byteCount() }

  func reserve(byteCount: UInt64) throws(StorageError) {
    try fileSystem.demandSpace(path)
    try inner.reserve(byteCount: byteCount)
  }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    // Demand space only if the file grows.
    if try count > inner.byteCount() { try fileSystem.demandSpace(path) }
    try inner.setByteCount(count)
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool { try inner.punch(range) }

  func allocatedByteCount() throws(StorageError) -> UInt64 {
    fileSystem.hidesDiskUsage ? 0 : try inner.allocatedByteCount()
  }

  func sync() throws(StorageError) {
    ObservedFileSystem.runQuietly { fileSystem.onSync?(path) }
    try inner.sync()
  }

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? {
    try ObservedFileSystem.run { () throws(StorageError) in
      try fileSystem.onDemand?(.memory, path)
    }
    try ObservedFileSystem.run { () throws(StorageError) in
      try fileSystem.onMap?(path)
    }
    return try inner.map(offset, byteCount: byteCount)
  }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    try ObservedFileSystem.run { () throws(StorageError) in
      try fileSystem.onDemand?(.memory, path)
    }
    return try inner.mapShared(byteCount: byteCount)
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    ObservedFileSystem.runQuietly { fileSystem.onLock?(kind, range) }
    return try inner.lock(kind, range)
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    ObservedFileSystem.runQuietly { fileSystem.onQuestion?() }
    return try inner.lockedByOthers(in: range)
  }

  func identity() throws(StorageError) -> FileIdentity { try inner.identity() }
}
