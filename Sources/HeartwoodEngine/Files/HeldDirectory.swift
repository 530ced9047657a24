#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A store's open directory.
///
/// Names are resolved relative to the open directory, even after it has been moved. See
/// ``FileSystem/entering(_:newFileMode:)``.
final class HeldDirectory: Sendable {
  let path: String
  /// The prefix of all paths in the directory: the directory's path, followed by a slash.
  private let prefix: String
  private let ownDescriptor: Int32
  private let newFileMode: UInt16?
  private let origin = ProcessOrigin()

  /// The name of the file whose mode and group are used for new files.
  private static let pattern = "pages"

  /// Creates a held directory from the descriptor of an open directory.
  ///
  /// The descriptor must be registered with ``OpenDescriptors``.
  init(_ descriptor: Int32, path: String, newFileMode: UInt16?) {
    self.path = path
    prefix = path + "/"
    ownDescriptor = descriptor
    self.newFileMode = newFileMode
  }

  deinit {
    // In a child process, close nothing: the fork handler has already closed the descriptor, and
    // its number may have been reused.
    guard !origin.isInherited else { return }
    OpenDescriptors.close(ownDescriptor)
  }

  /// Returns the descriptor, or throws `forked` in a child of the process that opened it.
  func descriptor() throws(StorageError) -> Int32 {
    try origin.requireOwn(path)
    return ownDescriptor
  }

  /// Returns the last component of `path`, or `nil` if `path` is not directly in this directory.
  func name(_ path: String) -> String? {
    guard path.hasPrefix(prefix) else { return nil }
    let name = path.utf8.dropFirst(prefix.utf8.count)
    guard !name.isEmpty, !name.contains(UInt8(ascii: "/")) else { return nil }
    let text = String(Substring(name))
    return text == "." || text == ".." ? nil : text
  }

  /// Creates a new file, or returns `nil` if another process has already created it.
  func create(_ name: String, _ path: String) throws(StorageError) -> (any File)? {
    let directory = try descriptor()
    let pattern = Self.status(of: Self.pattern, in: directory)
    let mode = pattern.map { $0.st_mode & 0o777 } ?? newFileMode.map { mode_t($0) }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_NOFOLLOW
    let result = OpenDescriptors.enter {
      SystemCalls.open(name, flags, in: directory, mode: mode ?? 0o644)
    }
    if case .failure(let error) = result, error.code == EEXIST { return nil }
    let descriptor = try result.permitted("create the file", path)
    // Ignore failures of `fchown` and `fchmod`: the process may lack permission, or the file system
    // may not support modes.
    if let group = pattern?.st_gid { _ = fchown(descriptor, uid_t.max, group) }
    // Set the mode again, because the umask may have removed bits when the file was created.
    if let mode { _ = fchmod(descriptor, mode) }
    return PosixFile(descriptor: descriptor, path: path, isWritable: true)
  }

  /// Returns the status of a regular file, or `nil` if there is no such file.
  ///
  /// This method does not follow links.
  static func status(of name: String, in directory: Int32) -> stat? {
    var status = stat()
    let result = SystemCalls.retrying { fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) }
    guard case .success = result, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return status
  }

  /// Returns the stamp of the names in this directory; see ``FileSystem/stamp(of:)``.
  func stamp() throws(StorageError) -> DirectoryStamp? {
    let directory = try descriptor()
    // Read the clock before the directory's status, so that any change that the status does not
    // reflect gets this timestamp or a later one.
    let now = Self.nanoseconds(Self.changeClock)
    var status = stat()
    let result = SystemCalls.retrying { fstat(directory, &status) }
    _ = try result.found("read the status of the directory", path)
    #if canImport(Darwin)
      let time = status.st_ctimespec
    #else
      let time = status.st_ctim
    #endif
    let changed = Self.nanoseconds(time)
    // Return `nil` shortly after a change, because another change in the same clock tick would get
    // the same timestamp and go unnoticed.
    let tick = time.tv_nsec == 0 ? Self.secondsTick : Self.changeTick
    return (-Self.clockLead...tick).contains(now - changed)
      ? nil : DirectoryStamp(nanoseconds: changed)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The earliest timestamp that the file system would assign to a change made now.
  private static var changeClock: timespec {
    var clock = timespec()
    #if canImport(Darwin)
      clock_gettime(CLOCK_REALTIME, &clock)
    #else
      // Use the clock from which Linux takes file timestamps. This clock advances every few
      // milliseconds.
      clock_gettime(CLOCK_REALTIME_COARSE, &clock)
    #endif
    return clock
  }

  #if canImport(Darwin)
    /// A duration, in nanoseconds, that is longer than one tick of the file system's clock.
    private static let changeTick: Int64 = 20_000_000
  #else
    /// Zero, because the file system takes its timestamps from `changeClock`.
    private static let changeTick: Int64 = 0
  #endif
  /// The number of nanoseconds by which a kernel may advance a timestamp to make it unique.
  private static let clockLead: Int64 = 20_000_000
  /// A duration, in nanoseconds, that is longer than one tick of a clock that counts whole seconds.
  private static let secondsTick: Int64 = 2_000_000_000
}

extension FileIdentity {
  init(_ status: stat) {
    self.init(
      device: UInt64(truncatingIfNeeded: status.st_dev),
      inode: UInt64(truncatingIfNeeded: status.st_ino))
  }
}
