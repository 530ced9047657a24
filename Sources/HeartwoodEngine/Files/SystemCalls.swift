#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// One shim per call of the C library, which returns the result or the error number.
///
/// Each shim reads the error number in the same expression as the call, before a Swift runtime call
/// can change it. Interrupted calls are repeated here and nowhere else.
enum SystemCalls {
  /// Repeats `call` while a signal interrupts it.
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

  // Open-file-description locks: the constants of <fcntl.h>, which the Swift overlays of Linux
  // leave out (Linux since 3.15; Darwin since macOS 10.11, in the public headers since the macOS 14
  // SDK).
  #if os(Linux) || os(Android)
    static let getLock: Int32 = 36
    static let setLock: Int32 = 37
    static let setLockWaiting: Int32 = 38
  #else
    static let getLock: Int32 = 92
    static let setLock: Int32 = 90
    static let setLockWaiting: Int32 = 91
  #endif

  /// Opens a file, by its path or by its name in an open directory; the descriptor is closed on
  /// `exec`.
  static func open(
    _ path: String, _ flags: Int32, in directory: Int32 = AT_FDCWD, mode: mode_t = 0o644
  ) -> Int32 {
    openat(directory, path, flags | O_CLOEXEC, mode)
  }

  /// Closes a descriptor.
  ///
  /// The result is ignored: all that matters was synced before, and a second call could close the
  /// file of another thread.
  static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

  /// Returns a new descriptor from `make`, above the numbers of the standard streams.
  ///
  /// For one thread at a time.
  static func highDescriptor(_ make: () -> Int32) -> Result<Int32, SystemError> {
    // Other code prints to descriptors 0 to 2: a store must never have one of them, not even until
    // it is moved. So placeholders occupy the free ones while the file is opened.
    let free = (Int32(0)...2).filter { fcntl($0, F_GETFD) == -1 }
    let placeholders = free.map { _ in open("/dev/null", O_RDWR) }
    defer { for placeholder in placeholders where placeholder != -1 { close(placeholder) } }
    let first = retrying(make)
    // Another thread may have closed one of them since.
    guard case .success(let descriptor) = first, descriptor <= 2 else { return first }
    let moved = retrying { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    close(descriptor)
    return moved
  }

  /// Makes bytes and length durable; on Darwin only `F_FULLFSYNC` flushes the drive's cache.
  static func sync(_ descriptor: Int32) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      let full = retrying { fcntl(descriptor, F_FULLFSYNC) }
      // Some file systems have no full sync; `fsync` is the best they offer.
      if case .failure(let error) = full, error.code == ENOTSUP || error.code == EINVAL {
        return retrying { fsync(descriptor) }
      }
      return full
    #else
      return retrying { fdatasync(descriptor) }
    #endif
  }

  /// Punches a hole; both ends are on block boundaries.
  static func punch(
    _ descriptor: Int32, _ offset: off_t, _ byteCount: off_t
  ) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      var hole = fpunchhole_t(fp_flags: 0, reserved: 0, fp_offset: offset, fp_length: byteCount)
      return retrying { fcntl(descriptor, F_PUNCHHOLE, &hole) }
    #else
      guard let allocate else { return .failure(SystemError(code: ENOSYS)) }
      // FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE of <linux/falloc.h>.
      return retrying { allocate(descriptor, 0x01 | 0x02, offset, byteCount) }
    #endif
  }

  #if os(Linux) || os(Android)
    /// `fallocate`, looked up by name: the Swift overlays leave out functions that only Linux has.
    private static let allocate: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32)? = {
      guard let symbol = dlsym(nil, "fallocate") else { return nil }
      return unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32).self)
    }()
  #endif

  /// Returns the type of the volume with the file at `path`.
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
      // The type is the first word of a structure of at most 120 bytes.
      return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) { buffer in
        guard let base = buffer.baseAddress else { return .failure(SystemError(code: ENOMEM)) }
        return retrying { statfs(path, base) }.map { _ in
          .number(UInt32(truncatingIfNeeded: base.load(as: Int.self)))
        }
      }
    #endif
  }

  #if os(Linux) || os(Android)
    /// `statfs`, looked up by name like `fallocate`.
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
      // Names are not data: `fdatasync` does not specify what it syncs of a directory.
      retrying { fsync(descriptor) }
    #endif
  }

  /// Writes a line to the standard error; ignores failures.
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

  /// Releases all locks: a length of zero means "to the largest offset".
  static var unlockRequest: flock { lockRequest(Int16(F_UNLCK), 0..<0) }
}

extension Result where Failure == SystemError {
  /// Returns the value; throws the storage error for a failed `action` on `path`.
  func get(_ action: String, _ path: String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error.storageError(action, path)
    }
  }

  /// Like ``get(_:_:)``, for an action that changes nothing.
  func found(_ action: String, _ path: String) throws(StorageError) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error.refusal(action, path)
    }
  }
}

/// An error number of the operating system.
struct SystemError: Error {
  let code: Int32

  /// Returns the storage error for a failed `action` on `path` that only reads or opens.
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
      return StorageError(
        .diskFull, "Cannot \(action): \(reason). Make room and try again.", file: path, errno: code)
    case EROFS, EACCES, EPERM:
      return StorageError(
        .io,
        "Cannot \(action): \(reason). Check the permissions of the store's directory, or"
          + " open it read-only.",
        file: path, errno: code)
    default:
      return StorageError(.io, "Cannot \(action): \(reason).", file: path, errno: code)
    }
  }
}
