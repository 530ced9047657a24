#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file that is accessed with system calls.
///
/// This is the module's only source file that handles pointers. Every method throws
/// ``SQLiteWriterError`` of the kind `system` if a system call fails.
final class SQLiteSystemFile {
  private let path: String
  private let descriptor: Int32

  /// Creates a new, empty file.
  ///
  /// - Throws: ``SQLiteWriterError`` of the kind `fileExists` if something already exists at
  ///   `path`.
  init(creating path: String) throws(SQLiteWriterError) {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
    var result = open(path, flags, 0o644)
    var code = errno
    while result == -1 && code == EINTR {
      result = open(path, flags, 0o644)
      code = errno
    }
    guard result != -1 else {
      if code == EEXIST {
        throw SQLiteWriterError(
          .fileExists,
          "There is already a file at \(path). Remove that file, or choose a different path.")
      }
      throw Self.failure("created", path, code)
    }
    // Do not use the descriptor of a closed standard stream, because output to that stream would
    // then be written to the file.
    if result <= 2 {
      let moved = fcntl(result, F_DUPFD_CLOEXEC, 3)
      code = errno
      _ = close(result)
      guard moved != -1 else { throw Self.failure("created", path, code) }
      result = moved
    }
    self.path = path
    descriptor = result
  }

  deinit { _ = close(descriptor) }

  /// Creates a temporary file in the directory of the file at `path`.
  ///
  /// The file's name is removed immediately, so the system deletes the file when the process closes
  /// the file or ends, even in a crash.
  static func temporary(near path: String) throws(SQLiteWriterError) -> SQLiteSystemFile {
    let name = "\(path).sort-\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    let file = try SQLiteSystemFile(creating: name)
    try file.remove()
    return file
  }

  /// Removes the name of the file from its directory.
  func remove() throws(SQLiteWriterError) {
    guard unlink(path) == -1 else { return }
    throw Self.failure("removed", path, errno)
  }

  /// Writes bytes at an offset.
  func write(_ bytes: [UInt8], at offset: Int) throws(SQLiteWriterError) {
    var done = 0
    while done < bytes.count {
      let (count, code) = bytes.withUnsafeBytes { buffer -> (Int, Int32) in
        let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
        let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
        return (count, errno)
      }
      if count >= 0 {
        done += count
      } else if code != EINTR {
        throw Self.failure("written", path, code)
      }
    }
  }

  /// Reads `count` bytes of the file, and stores them in `bytes` from `start` onwards.
  ///
  /// - Precondition: `bytes` contains at least `start + count` bytes.
  func read(
    into bytes: inout [UInt8], at start: Int, from offset: Int, count: Int
  ) throws(SQLiteWriterError) {
    precondition(
      start >= 0 && count >= 0 && start + count <= bytes.count,
      "The byte range is out of bounds.")
    var done = 0
    while done < count {
      let (step, code) = bytes.withUnsafeMutableBytes { buffer -> (Int, Int32) in
        let rest = UnsafeMutableRawBufferPointer(
          rebasing: buffer[(start + done)..<(start + count)])
        let step = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
        return (step, errno)
      }
      if step > 0 {
        done += step
      } else if step == 0 {
        throw SQLiteWriterError(
          .system(code: EIO),
          "The file \(path) is shorter than expected. It may have been truncated; create it again.")
      } else if code != EINTR {
        throw Self.failure("read", path, code)
      }
    }
  }

  /// Makes the contents of the file durable.
  func sync() throws(SQLiteWriterError) {
    #if canImport(Darwin)
      // Only `F_FULLFSYNC` flushes the drive's cache, but some file systems support only `fsync`.
      if fcntl(descriptor, F_FULLFSYNC) != -1 { return }
    #endif
    while fsync(descriptor) == -1 {
      let code = errno
      if code != EINTR { throw Self.failure("synced", path, code) }
    }
  }

  /// Makes the name of the file durable by syncing the file's directory.
  func syncName() throws(SQLiteWriterError) {
    var directory = "."
    if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
      directory = String(path[...slash])
    }
    let opened = open(directory, O_RDONLY | O_CLOEXEC)
    guard opened != -1 else { throw Self.failure("opened", directory, errno) }
    defer { _ = close(opened) }
    guard fsync(opened) == -1 else { return }
    let code = errno
    // Ignore these errors, because some file systems cannot sync a directory.
    guard code != EINVAL, code != ENOTSUP else { return }
    throw Self.failure("synced", directory, code)
  }

  private static func failure(_ verb: String, _ path: String, _ code: Int32) -> SQLiteWriterError {
    SQLiteWriterError(
      .system(code: code),
      "The file \(path) could not be \(verb) (\(String(cString: strerror(code)))). Fix the "
        + "problem, then try again.")
  }
}

extension [UInt8] {
  /// Appends the bytes of a span.
  mutating func append(_ span: RawSpan) { span.withUnsafeBytes { append(contentsOf: $0) } }

  /// Compares a range of bytes with a range of another array, byte by byte.
  ///
  /// - Returns: A negative number if this range sorts first, a positive number if the other range
  ///   sorts first, or 0 if the ranges are equal.
  func compare(_ range: Range<Int>, with other: [UInt8], _ otherRange: Range<Int>) -> Int {
    let order = withUnsafeBytes { left in
      other.withUnsafeBytes { right in
        // Use slices, because a slice checks its bounds.
        let (left, right) = (left[range], right[otherRange])
        guard let address = left.base.baseAddress, let otherAddress = right.base.baseAddress else {
          return Int32(0)
        }
        return memcmp(
          address + range.lowerBound, otherAddress + otherRange.lowerBound,
          Swift.min(left.count, right.count))
      }
    }
    return order != 0 ? Int(order) : range.count - otherRange.count
  }
}
