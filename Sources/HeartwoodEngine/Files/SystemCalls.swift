#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Wrappers for C library functions.
///
/// Most wrappers return either the result or the error number.
///
/// The error number is read immediately after the call, before a Swift runtime call can change it.
enum SystemCalls {
  /// Makes the system call in `call`, and repeats it whenever a signal interrupts it.
  @inline(__always)
  static func retrying<Count: FixedWidthInteger & SignedInteger>(
    _ call: () -> Count
  ) -> Result<Count, SystemError> {
    while true {
      let result = call()
      if result != -1 { return .success(result) }
      let code = errno
      if code != EINTR { return .failure(SystemError(code: code)) }
    }
  }

  // These are the commands for open-file-description locks, which the Swift overlays for Linux do
  // not import from <fcntl.h>. The commands are available in Linux 3.15 and later and in macOS
  // 10.11 and later (in the public headers since the macOS 14 SDK).
  #if os(Linux) || os(Android)
    static let getLock: Int32 = 36
    static let setLock: Int32 = 37
    static let setLockWaiting: Int32 = 38
  #else
    static let getLock: Int32 = 92
    static let setLock: Int32 = 90
    static let setLockWaiting: Int32 = 91
  #endif

  /// Opens a file by its path, or by its name in an open directory.
  ///
  /// The descriptor is closed on `exec`.
  static func open(
    _ path: String, _ flags: Int32, in directory: Int32 = AT_FDCWD, mode: mode_t = 0o644
  ) -> Int32 {
    openat(directory, path, flags | O_CLOEXEC, mode)
  }

  /// Closes a descriptor, ignoring any failure.
  ///
  /// All important data has already been synced, and retrying could close another thread's file.
  static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

  /// Calls `make` to open a file, and returns a descriptor above those of the standard streams.
  ///
  /// Only one thread may call this function at a time.
  static func highDescriptor(_ make: () -> Int32) -> Result<Int32, SystemError> {
    // Occupy the free descriptors from 0 to 2 with placeholders while the file is being opened.
    // Other code prints to these descriptors, so a store's file must never use one, even briefly.
    let free = (Int32(0)...2).filter { fcntl($0, F_GETFD) == -1 }
    let placeholders = free.map { _ in open("/dev/null", O_RDWR) }
    defer { for placeholder in placeholders where placeholder != -1 { close(placeholder) } }
    let first = retrying(make)
    // Another thread may have closed a standard stream after the check above. If the file has
    // received that stream's descriptor, move the file to a higher descriptor.
    guard case .success(let descriptor) = first, descriptor <= 2 else { return first }
    let moved = retrying { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    close(descriptor)
    return moved
  }

  /// Makes a file and its length durable.
  ///
  /// On Darwin, only `F_FULLFSYNC` flushes the drive's cache.
  static func sync(_ descriptor: Int32) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      let full = retrying { fcntl(descriptor, F_FULLFSYNC) }
      // Fall back to `fsync`, which is the best that some file systems offer.
      if case .failure(let error) = full, error.code == ENOTSUP || error.code == EINVAL {
        return retrying { fsync(descriptor) }
      }
      return full
    #else
      return retrying { fdatasync(descriptor) }
    #endif
  }

  /// Punches a hole that starts and ends at block boundaries.
  static func punch(
    _ descriptor: Int32, _ offset: off_t, _ byteCount: off_t
  ) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      var hole = fpunchhole_t(fp_flags: 0, reserved: 0, fp_offset: offset, fp_length: byteCount)
      return retrying { fcntl(descriptor, F_PUNCHHOLE, &hole) }
    #else
      guard let allocate else { return .failure(SystemError(code: ENOSYS)) }
      // The flags are FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE from <linux/falloc.h>.
      return retrying { allocate(descriptor, 0x01 | 0x02, offset, byteCount) }
    #endif
  }

  #if os(Linux) || os(Android)
    /// The `fallocate` function, looked up by name because the Swift overlays omit it.
    private static let allocate: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32)? = {
      guard let symbol = dlsym(nil, "fallocate") else { return nil }
      return unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32).self)
    }()
  #endif

  static func volumeType(_ path: String) -> Result<VolumeType, SystemError> {
    #if canImport(Darwin)
      var status = statfs()
      return retrying { statfs(path, &status) }.map { _ in
        let name = withUnsafeBytes(of: &status.f_fstypename) { bytes in
          String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return .name(name, isLocal: status.f_flags & UInt32(MNT_LOCAL) != 0)
      }
    #else
      guard let statfs else { return .failure(SystemError(code: ENOSYS)) }
      // Provide more than enough memory: the structure has at most 120 bytes. The first word of the
      // structure is the type of the file system.
      return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) { buffer in
        guard let base = buffer.baseAddress else { return .failure(SystemError(code: ENOMEM)) }
        return retrying { statfs(path, base) }.map { _ in
          .number(UInt32(truncatingIfNeeded: base.load(as: Int.self)))
        }
      }
    #endif
  }

  #if os(Linux) || os(Android)
    /// The `statfs` function, looked up by name because the Swift overlays omit it.
    private static let statfs: VolumeCall? = {
      guard let symbol = dlsym(nil, "statfs") else { return nil }
      return unsafeBitCast(symbol, to: VolumeCall.self)
    }()

    private typealias VolumeCall =
      @convention(c) (
        UnsafePointer<CChar>, UnsafeMutableRawPointer
      ) -> Int32
  #endif

  /// Makes the names in an open directory durable.
  static func syncNames(_ descriptor: Int32) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      sync(descriptor)
    #else
      // Use `fsync`, because it is unspecified which parts of a directory `fdatasync` syncs.
      retrying { fsync(descriptor) }
    #endif
  }

  /// Writes a line to standard error, ignoring any failure.
  static func printError(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = retrying { bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) } }
  }

  static func lockRequest(_ kind: Int16, _ range: Range<UInt64>) -> flock {
    var request = flock()
    request.l_type = kind
    request.l_whence = Int16(SEEK_SET)
    request.l_start = off_t(range.lowerBound)
    request.l_len = off_t(range.upperBound - range.lowerBound)
    request.l_pid = 0
    return request
  }

  /// A request to release all locks: a length of zero means "to the largest offset".
  static var unlockRequest: flock { lockRequest(Int16(F_UNLCK), 0..<0) }
}

extension Result where Failure == SystemError {
  /// Returns the value, or throws the storage error for a failed `action` on `path`.
  func get(_ action: String, _ path: String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error.storageError(action, path)
    }
  }

  /// Returns the value, or throws a storage error whose `changedNothing` property is `true`.
  ///
  /// Use this method for actions that never write, such as reading or opening `path`.
  func found(_ action: String, _ path: String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error.refusal(action, path)
    }
  }

  /// Returns the value, or throws the storage error for a failed `action` on `path`.
  ///
  /// If the system refused the call, the error's `changedNothing` property is `true`. Use this
  /// method for actions that create, remove or rename `path`.
  func permitted(_ action: String, _ path: String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error) where error.isRefusal: throw error.refusal(action, path)
    case .failure(let error): throw error.storageError(action, path)
    }
  }
}

/// An error number from the operating system.
struct SystemError: Error {
  let code: Int32

  /// A Boolean value that indicates whether the system refused a call because of permissions or
  /// limits.
  ///
  /// A refused call has changed nothing.
  fileprivate var isRefusal: Bool {
    [EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOMEM].contains(code)
  }

  /// Returns the storage error for a failed action that does not write.
  ///
  /// The error's `changedNothing` property is `true`.
  func refusal(_ action: String, _ path: String) -> StorageError {
    var error = storageError(action, path)
    error.changedNothing = true
    return error
  }

  /// Returns the storage error for a failed `action` on `path`.
  func storageError(_ action: String, _ path: String) -> StorageError {
    let reason = String(cString: strerror(code))
    switch code {
    case ENOSPC, EDQUOT, EFBIG:
      let advice = code == EFBIG ? "Raise the file size limit" : "Free some space"
      return StorageError(
        .diskFull, "Cannot \(action): \(reason). \(advice) and try again.", file: path,
        errno: code)
    case EROFS, EACCES, EPERM:
      return StorageError(
        .io,
        "Cannot \(action): \(reason). Check the permissions of the store's directory and files. If "
          + "you only need to read the store, open it read-only.",
        file: path, errno: code)
    default:
      return StorageError(
        .io, "Cannot \(action): \(reason). Fix the problem, then try again.", file: path,
        errno: code)
    }
  }
}
