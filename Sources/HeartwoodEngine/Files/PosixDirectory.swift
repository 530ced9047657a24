#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The operating system's files, with one open directory.
///
/// Every name in the directory is resolved relative to its descriptor, so a store stays in the
/// directory it has opened even if that is moved or another replaces it. It follows no symbolic
/// link and opens regular files only. Paths elsewhere go to the underlying file system.
///
/// Thread-safe: the descriptor never changes.
final class PosixDirectory: FileSystem {
  private let base: PosixFileSystem
  private let path: String
  /// The common prefix of the paths of its names.
  private let prefix: String
  private let ownDescriptor: Int32
  /// The mode of new files while there is no file to take it from; `nil` for the default of the
  /// process.
  private let newFileMode: UInt16?
  private let origin = ProcessOrigin()

  /// The file whose mode and group new files take.
  private static let pattern = "pages"

  /// - Parameter descriptor: A descriptor registered with ``OpenDescriptors``.
  init(_ base: PosixFileSystem, descriptor: Int32, path: String, newFileMode: UInt16?) {
    self.base = base
    self.path = path
    prefix = path + "/"
    ownDescriptor = descriptor
    self.newFileMode = newFileMode
  }

  deinit {
    // A child has closed it already, and its number may belong to another file.
    guard !origin.isInherited else { return }
    OpenDescriptors.close(ownDescriptor)
  }

  var domain: ObjectIdentifier { base.domain }
  var bootIdentity: UInt64? { base.bootIdentity }
  var wallClockMilliseconds: UInt64 { base.wallClockMilliseconds }

  func random() -> UInt64 { base.random() }

  /// Returns the descriptor, in the process that opened the directory.
  private func descriptor() throws(StorageError) -> Int32 {
    try origin.requireOwn(path)
    return ownDescriptor
  }

  /// Returns the name of a path within this directory; `nil` if the path is elsewhere.
  private func name(_ path: String) -> String? {
    guard path.hasPrefix(prefix) else { return nil }
    let name = path.utf8.dropFirst(prefix.utf8.count)
    guard !name.isEmpty, !name.contains(UInt8(ascii: "/")) else { return nil }
    let text = String(Substring(name))
    return text == "." || text == ".." ? nil : text
  }

  // MARK: Files

  func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    guard let name = name(path) else { return try base.open(path, access) }
    guard access == .create else { return try openExisting(name, path, access) }
    var attempts = Attempts()
    while true {
      if let file = try openExisting(name, path, .write) { return file }
      if let file = try create(name, path) { return file }
      try attempts.next("create", path)
    }
  }

  private func openExisting(
    _ name: String, _ path: String, _ access: FileAccess
  ) throws(StorageError) -> (any File)? {
    let directory = try descriptor()
    return try PosixFileSystem.file(path, access) { flags in
      OpenDescriptors.enter { SystemCalls.openAt(directory, name, flags, 0) }
    }
  }

  /// Creates a file; `nil` if another process has created it meanwhile.
  private func create(_ name: String, _ path: String) throws(StorageError) -> (any File)? {
    let directory = try descriptor()
    let pattern = status(of: Self.pattern, in: directory)
    let mode = pattern.map { $0.st_mode & 0o777 } ?? newFileMode.map { mode_t($0) }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_NOFOLLOW
    let result = OpenDescriptors.enter {
      SystemCalls.openAt(directory, name, flags, mode ?? 0o644)
    }
    switch result {
    case .success(let descriptor):
      // Both calls may fail: the process may lack permission, or the file system may have no modes.
      if let group = pattern?.st_gid { _ = fchown(descriptor, uid_t.max, group) }
      // The process's umask has removed bits from the mode it was created with.
      if let mode { _ = fchmod(descriptor, mode) }
      return PosixFile(descriptor: descriptor, path: path, isWritable: true)
    case .failure(let error) where error.code == EEXIST:
      return nil
    case .failure(let error):
      throw error.storageError("create", path)
    }
  }

  func remove(_ path: String) throws(StorageError) {
    guard let name = name(path) else { return try base.remove(path) }
    let directory = try descriptor()
    if case .failure(let error) = SystemCalls.retrying({ unlinkat(directory, name, 0) }),
      error.code != ENOENT
    {
      throw error.storageError("remove", path)
    }
  }

  func rename(_ source: String, to target: String) throws(StorageError) {
    guard let old = name(source), let new = name(target) else {
      return try base.rename(source, to: target)
    }
    let directory = try descriptor()
    if case .failure(let error) = SystemCalls.retrying({ renameat(directory, old, directory, new) })
    {
      throw error.storageError("rename", source)
    }
  }

  // MARK: The directory

  func createDirectory(_ path: String) throws(StorageError) { try base.createDirectory(path) }

  func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError) {
    try base.createDirectory(path, forFilesOf: mode)
  }

  func entering(_ path: String, newFileMode: UInt16?) throws(StorageError) -> any FileSystem {
    try base.entering(path, newFileMode: newFileMode)
  }

  func list(_ path: String) throws(StorageError) -> [String]? {
    guard path == self.path else { return try base.list(path) }
    let directory = try descriptor()
    let flags = O_RDONLY | O_DIRECTORY
    return try PosixFileSystem.names(
      OpenDescriptors.openBriefly { SystemCalls.openAt(directory, ".", flags, 0) }, path)
  }

  func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    try base.volumeType(of: path)
  }

  func syncDirectory(_ path: String) throws(StorageError) {
    guard path == self.path else { return try base.syncDirectory(path) }
    if case .failure(let error) = SystemCalls.syncNames(try descriptor()) {
      throw error.storageError("sync the directory", path)
    }
  }

  func watch(_ path: String) -> (any FileWatch)? { base.watch(path) }

  // MARK: Status of names

  private func status(of name: String, in directory: Int32) -> stat? {
    var status = stat()
    let result = SystemCalls.retrying {
      fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)
    }
    guard case .success = result, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return status
  }

  func identity(of path: String) throws(StorageError) -> FileIdentity? {
    guard let name = name(path) else { return try base.identity(of: path) }
    return status(of: name, in: try descriptor()).map(FileIdentity.init)
  }

  func mode(of path: String) throws(StorageError) -> UInt16? {
    guard let name = name(path) else { return try base.mode(of: path) }
    return status(of: name, in: try descriptor()).map { UInt16($0.st_mode & 0o777) }
  }

  func stamp(of path: String) throws(StorageError) -> DirectoryStamp? {
    guard path == self.path else { return try base.stamp(of: path) }
    let directory = try descriptor()
    // Read before the directory's status: every later change gets this time or a later one.
    let now = Self.nanoseconds(Self.changeClock)
    var status = stat()
    if case .failure(let error) = SystemCalls.retrying({ fstat(directory, &status) }) {
      throw error.storageError("read the status of the directory", path)
    }
    #if canImport(Darwin)
      let time = status.st_ctimespec
    #else
      let time = status.st_ctim
    #endif
    let changed = Self.nanoseconds(time)
    // A second change within one tick of the file system's clock would not change the time.
    let tick = time.tv_nsec == 0 ? Self.secondsTick : Self.changeTick
    return (-Self.clockLead...tick).contains(now - changed)
      ? nil : DirectoryStamp(nanoseconds: changed)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The time that a change of names would get now, or an earlier one.
  private static var changeClock: timespec {
    var clock = timespec()
    #if canImport(Darwin)
      clock_gettime(CLOCK_REALTIME, &clock)
    #else
      // The clock from which Linux takes these times; it advances every few milliseconds.
      clock_gettime(CLOCK_REALTIME_COARSE, &clock)
    #endif
    return clock
  }

  #if canImport(Darwin)
    /// More than one tick of the file system's clock, in nanoseconds.
    private static let changeTick: Int64 = 20_000_000
  #else
    /// Zero, because `changeClock` is the file system's own: either it has advanced or it has not.
    private static let changeTick: Int64 = 0
  #endif
  /// The largest lead of a change time over `changeClock`, on kernels that make these times unique.
  private static let clockLead: Int64 = 20_000_000
  /// More than one tick of a file system that stores times in seconds.
  private static let secondsTick: Int64 = 2_000_000_000
}

extension FileIdentity {
  init(_ status: stat) {
    self.init(
      device: UInt64(truncatingIfNeeded: status.st_dev),
      inode: UInt64(truncatingIfNeeded: status.st_ino))
  }
}
