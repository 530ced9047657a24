#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// One shim per call of the C library: the result or the error number, nothing else.
///
/// The error number is read in the same expression as the call, before any Swift runtime call can
/// change it, and interrupted calls are repeated here and nowhere else.
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

  // Open-file-description locks: the numbers of <fcntl.h>, which the Swift overlays of Linux leave
  // out (Linux since 3.15; Darwin since macOS 10.11, in the public headers since the macOS 14 SDK).
  #if os(Linux) || os(Android)
    static let getLock: Int32 = 36
    static let setLock: Int32 = 37
    static let setLockWaiting: Int32 = 38
  #else
    static let getLock: Int32 = 92
    static let setLock: Int32 = 90
    static let setLockWaiting: Int32 = 91
  #endif

  /// Opens what is at a path; the descriptor closes when a program is started.
  static func open(_ path: String, _ flags: Int32) -> Int32 {
    let flags = flags | O_CLOEXEC
    #if canImport(Glibc)
      return Glibc.open(path, flags, 0o644)
    #elseif canImport(Musl)
      return Musl.open(path, flags, 0o644)
    #else
      return Darwin.open(path, flags, 0o644)
    #endif
  }

  /// Opens a name in a directory; the descriptor closes when a program is started.
  static func openAt(
    _ directory: Int32, _ name: String, _ flags: Int32, _ mode: mode_t
  ) -> Int32 {
    openat(directory, name, O_CLOEXEC | flags, mode)
  }

  /// A new descriptor that `make` returns, above the numbers of the standard streams.
  ///
  /// For one thread at a time.
  static func placedDescriptor(_ make: () -> Int32) -> Result<Int32, SystemError> {
    // Descriptors 0 to 2 are where other code prints to: a store must never live there, not even
    // until it is moved. So whatever of them is free is taken while the file is opened.
    let free = (Int32(0)...2).filter { fcntl($0, F_GETFD) == -1 }
    let placeholders = free.map { _ in open("/dev/null", O_RDWR) }
    defer { for placeholder in placeholders where placeholder != -1 { close(placeholder) } }
    let first = retrying(make)
    // One of them may have been closed since.
    guard case .success(let descriptor) = first, descriptor <= 2 else { return first }
    let moved = retrying { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    close(descriptor)
    return moved
  }

  /// Makes bytes and length durable; on Darwin only `F_FULLFSYNC` empties the drive's cache.
  static func sync(_ descriptor: Int32) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      let full = retrying { fcntl(descriptor, F_FULLFSYNC) }
      // Some file systems have no full sync; theirs is the best there is.
      if case .failure(let error) = full, error.code == ENOTSUP || error.code == EINVAL {
        return retrying { fsync(descriptor) }
      }
      return full
    #else
      return retrying { fdatasync(descriptor) }
    #endif
  }

  /// Makes a hole; both ends lie on block boundaries.
  static func punch(
    _ descriptor: Int32, _ offset: off_t, _ byteCount: off_t
  ) -> Result<Int32, SystemError> {
    #if canImport(Darwin)
      var hole = fpunchhole_t(
        fp_flags: 0, reserved: 0, fp_offset: offset, fp_length: byteCount)
      return retrying { fcntl(descriptor, F_PUNCHHOLE, &hole) }
    #else
      guard let allocate else { return .failure(SystemError(code: ENOSYS)) }
      // FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE of <linux/falloc.h>.
      return retrying { allocate(descriptor, 0x01 | 0x02, offset, byteCount) }
    #endif
  }

  #if os(Linux) || os(Android)
    /// `fallocate`, looked up by name: the Swift overlays leave out what is Linux only.
    private static let allocate: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32)? = {
      guard let symbol = dlsym(nil, "fallocate") else { return nil }
      return unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32, off_t, off_t) -> Int32).self)
    }()
  #endif

  /// The type of the volume that holds what is at `path`.
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
      // The type is the first word of a structure of 120 bytes at most.
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
      // Names are no data: what `fdatasync` owes a directory is not written down anywhere.
      retrying { fsync(descriptor) }
    #endif
  }

  /// Writes a line to the standard error; one that cannot be written is lost.
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

/// An error number of the operating system.
struct SystemError: Error {
  let code: Int32

  /// The storage error for a failed `action` on `path` that only looks or opens.
  func refusal(_ action: String, _ path: String) -> StorageError {
    var error = storageError(action, path)
    error.changedNothing = true
    return error
  }

  /// The storage error for a failed `action` on `path`.
  func storageError(_ action: String, _ path: String) -> StorageError {
    let reason = String(cString: strerror(code))
    switch code {
    case ENOSPC, EDQUOT, EFBIG:
      return StorageError(
        .full, "Cannot \(action): \(reason). Make room and try again.", file: path, errno: code)
    case EROFS, EACCES, EPERM:
      return StorageError(
        .io,
        "Cannot \(action): \(reason). Check the permissions of the store's folder, or open"
          + " it read-only.",
        file: path, errno: code)
    default:
      return StorageError(.io, "Cannot \(action): \(reason).", file: path, errno: code)
    }
  }
}
