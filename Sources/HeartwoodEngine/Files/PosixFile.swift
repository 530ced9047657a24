#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file that is accessed through POSIX system calls.
///
/// This type is thread-safe, because its descriptor never changes.
final class PosixFile: File {
  let path: String
  private let ownDescriptor: Int32
  private let isWritable: Bool
  private let origin = ProcessOrigin()

  /// Creates a file object from the descriptor of an open file.
  ///
  /// The descriptor must be registered with ``OpenDescriptors``.
  init(descriptor: Int32, path: String, isWritable: Bool) {
    ownDescriptor = descriptor
    self.path = path
    self.isWritable = isWritable
  }

  deinit {
    // Do nothing in a child process. The locks belong to the parent, and the fork handler has
    // already closed the descriptor, whose number may have been reused.
    guard !origin.isInherited else { return }
    // Release the locks explicitly: a mapping keeps the open file and its locks alive after the
    // descriptor is closed.
    var request = SystemCalls.unlockRequest
    _ = SystemCalls.retrying { fcntl(ownDescriptor, SystemCalls.setLock, &request) }
    OpenDescriptors.close(ownDescriptor)
  }

  /// Returns the descriptor, or throws `forked` in a child of the process that opened it.
  private func descriptor() throws(StorageError) -> Int32 {
    try origin.requireOwn(path)
    return ownDescriptor
  }

  func read(into target: MutableBytes, at offset: UInt64) throws(StorageError) -> Int {
    let descriptor = try descriptor()
    var done = 0
    while done < target.count {
      let result = SystemCalls.retrying {
        // Darwin rejects transfers of 2 GiB or more, so split larger transfers.
        pread(
          descriptor, target.base + done, min(target.count - done, Self.maxTransferByteCount),
          off_t(offset) + off_t(done))
      }
      let count = try result.found("read the file", path)
      if count == 0 { break }
      done += count
    }
    return done
  }

  func write(_ parts: [Bytes], at offset: UInt64) throws(StorageError) {
    let descriptor = try descriptor()
    var vectors = parts.map {
      iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.base), iov_len: $0.count)
    }
    var first = 0
    var position = off_t(offset)
    while first < vectors.count {
      let count = Self.vectorCount(vectors[first...])
      let result = vectors.withUnsafeBufferPointer { buffer in
        SystemCalls.retrying {
          pwritev(descriptor, buffer.baseAddress.unsafelyUnwrapped + first, Int32(count), position)
        }
      }
      var written = try result.get("write to the file", path)
      let remaining = vectors[first..<first + count].contains { $0.iov_len > 0 }
      guard written > 0 || !remaining else {
        throw StorageError(
          .io,
          "Cannot write to the file: the operating system wrote no bytes. Try again.", file: path)
      }
      position += off_t(written)
      while first < vectors.count, written >= vectors[first].iov_len {
        written -= vectors[first].iov_len
        first += 1
      }
      if first < vectors.count {
        vectors[first].iov_base = vectors[first].iov_base.map { $0 + written }
        vectors[first].iov_len -= written
      }
    }
  }

  private static let maxTransferByteCount = 1 << 30

  /// Returns the number of leading vectors that one call can write.
  ///
  /// The result respects Darwin's byte limit, and the lowest limit on the number of vectors among
  /// all supported platforms.
  private static func vectorCount(_ vectors: ArraySlice<iovec>) -> Int {
    var byteCount = 0
    let fitting = vectors.prefix(1024).prefix { vector in
      byteCount += vector.iov_len
      return byteCount <= maxTransferByteCount
    }
    return max(fitting.count, 1)
  }

  func byteCount() throws(StorageError) -> UInt64 { UInt64(try status().st_size) }

  private func status() throws(StorageError) -> stat {
    let descriptor = try descriptor()
    var status = stat()
    _ = try SystemCalls.retrying { fstat(descriptor, &status) }
      .found("read the status of the file", path)
    return status
  }

  func setByteCount(_ count: UInt64) throws(StorageError) {
    let descriptor = try descriptor()
    let result = SystemCalls.retrying { ftruncate(descriptor, off_t(count)) }
    _ = try result.get("change the length of the file", path)
  }

  func reserve(byteCount: UInt64) throws(StorageError) {
    // Reserve only the space beyond the end of the file. If the file system cannot reserve space,
    // the C library may write to each block instead, which could overwrite another process's data
    // in existing blocks.
    let end = try self.byteCount()
    guard end < byteCount else { return }
    let descriptor = try descriptor()
    #if canImport(Darwin)
      // `F_PREALLOCATE` does not change the file's length, so set the length afterwards. Ignore
      // failures: file systems that do not support `F_PREALLOCATE` allocate space when bytes are
      // written.
      var request = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
        fst_length: off_t(byteCount - end), fst_bytesalloc: 0)
      _ = SystemCalls.retrying { fcntl(descriptor, F_PREALLOCATE, &request) }
      try setByteCount(byteCount)
    #else
      // `posix_fallocate` returns an error code instead of setting `errno`.
      let length = off_t(byteCount - end)
      var code = posix_fallocate(descriptor, off_t(end), length)
      while code == EINTR { code = posix_fallocate(descriptor, off_t(end), length) }
      if code == EOPNOTSUPP || code == EINVAL {
        try setByteCount(byteCount)
      } else if code != 0 {
        throw SystemError(code: code).storageError("allocate space for the file", path)
      }
    #endif
  }

  func punch(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    guard !range.isEmpty else { return true }
    let descriptor = try descriptor()
    let result = SystemCalls.punch(descriptor, off_t(range.lowerBound), off_t(range.count))
    if case .failure(let error) = result,
      [EOPNOTSUPP, ENOSYS, ENOTTY, EINVAL].contains(error.code)
    {
      return false
    }
    _ = try result.get("deallocate space in the file", path)
    return true
  }

  func allocatedByteCount() throws(StorageError) -> UInt64 {
    // `st_blocks` counts units of 512 bytes on every platform, regardless of the block size.
    UInt64(try status().st_blocks) * 512
  }

  func sync() throws(StorageError) {
    _ = try SystemCalls.sync(try descriptor()).get("sync the file", path)
  }

  func map(_ offset: UInt64, byteCount: Int) throws(StorageError) -> Mapping? {
    do throws(StorageError) {
      let memory = try mapping(offset, byteCount, PROT_READ)
      return Mapping(memory) { munmap($0.base, $0.count) }
    } catch {
      // File systems that do not support mappings report `ENODEV`.
      if error.errno == ENODEV { return nil }
      throw error
    }
  }

  func mapShared(byteCount: Int) throws(StorageError) -> Mapping {
    let memory = try mapping(0, byteCount, isWritable ? PROT_READ | PROT_WRITE : PROT_READ)
    OpenDescriptors.enterShared(memory)
    return Mapping(memory) { OpenDescriptors.unmapShared($0) }
  }

  private func mapping(_ offset: UInt64, _ byteCount: Int, _ protection: Int32)
    throws(StorageError) -> MutableBytes
  {
    let descriptor = try descriptor()
    let address = mmap(nil, byteCount, protection, MAP_SHARED, descriptor, off_t(offset))
    guard let address, address != MAP_FAILED else {
      throw SystemError(code: errno).refusal("map the file", path)
    }
    return MutableBytes(address, count: byteCount)
  }

  func lock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) -> Bool {
    try lock(kind, range, SystemCalls.setLock)
  }

  func waitForLock(_ kind: LockKind, _ range: Range<UInt64>) throws(StorageError) {
    while try !lock(kind, range, SystemCalls.setLockWaiting) {}
  }

  private func lock(
    _ kind: LockKind, _ range: Range<UInt64>, _ command: Int32
  ) throws(StorageError) -> Bool {
    let type =
      switch kind {
      case .shared: Int16(F_RDLCK)
      case .exclusive: Int16(F_WRLCK)
      case .none: Int16(F_UNLCK)
      }
    // Skip an empty range: the system would interpret a length of zero as "to the largest offset".
    guard !range.isEmpty else { return true }
    let descriptor = try descriptor()
    var request = SystemCalls.lockRequest(type, range)
    switch SystemCalls.retrying({ fcntl(descriptor, command, &request) }) {
    case .success:
      return true
    case .failure(let error) where error.code == EAGAIN || error.code == EACCES:
      return false
    case .failure(let error):
      throw lockError(error)
    }
  }

  func lockedByOthers(in range: Range<UInt64>) throws(StorageError) -> Range<UInt64>? {
    guard !range.isEmpty else { return nil }
    let descriptor = try descriptor()
    var request = SystemCalls.lockRequest(Int16(F_WRLCK), range)
    if case .failure(let error) = SystemCalls.retrying({
      fcntl(descriptor, SystemCalls.getLock, &request)
    }) {
      throw lockError(error)
    }
    guard request.l_type != Int16(F_UNLCK) else { return nil }
    let start = UInt64(request.l_start)
    // A length of zero means "to the largest offset".
    let end = request.l_len == 0 ? UInt64(Int64.max) : start + UInt64(request.l_len)
    return max(start, range.lowerBound)..<min(end, range.upperBound)
  }

  private func lockError(_ error: SystemError) -> StorageError {
    guard [EOPNOTSUPP, ENOTSUP, ENOSYS, EINVAL].contains(error.code) else {
      return error.refusal("lock the file", path)
    }
    return .unchanged(
      .unsupportedFileSystem,
      "This file system does not support open-file-description locks. Keep the store on a local "
        + "disk.",
      file: path, errno: error.code)
  }

  func identity() throws(StorageError) -> FileIdentity { FileIdentity(try status()) }

  func touch() throws(StorageError) {
    let descriptor = try descriptor()
    // Pass `nil` to set the current time; setting any other time would require owning the file.
    _ = try SystemCalls.retrying { futimens(descriptor, nil) }.get(
      "update the modification time", path)
  }
}
