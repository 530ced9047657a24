import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The operating system's files.
package final class PosixFileSystem: FileSystem {
  package let bootIdentity: UInt64?

  /// The same for all instances: a machine has one file system.
  package var domain: ObjectIdentifier { ObjectIdentifier(PosixFileSystem.self) }

  package init() {
    _ = Self.ignoresFileSizeSignal
    bootIdentity = Self.readBootIdentity()
  }

  /// Whether opening a store made this process ignore the signal for writes beyond its file size
  /// limit: such a write must be an error instead of ending the process.
  ///
  /// A handler that the program has set stays; this is decided once per process.
  private static let ignoresFileSizeSignal: Bool = {
    var action = sigaction()
    guard sigaction(SIGXFSZ, nil, &action) == 0 else { return false }
    #if canImport(Glibc)
      let handler = action.__sigaction_handler.sa_handler
    #elseif canImport(Musl)
      let handler = action.__sa_handler.sa_handler
    #else
      let handler = action.__sigaction_u.__sa_handler
    #endif
    // The default handler is the null pointer on every system.
    guard handler == nil else { return false }
    signal(SIGXFSZ, SIG_IGN)
    return true
  }()

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    try Self.file(path, access) { flags in OpenDescriptors.open(path, flags) }
  }

  /// Opens the regular file at a path with `open`, which must register its descriptor.
  static func file(
    _ path: String, _ access: FileAccess, _ open: (_ flags: Int32) -> Result<Int32, SystemError>
  ) throws(StorageError) -> (any File)? {
    let flags =
      switch access {
      // Without O_NONBLOCK, opening a pipe with this name would block for ever.
      case .read: O_RDONLY | O_NONBLOCK | O_NOFOLLOW
      case .write: O_RDWR | O_NONBLOCK | O_NOFOLLOW
      case .create: O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW
      }
    switch open(flags) {
    case .success(let descriptor):
      var status = stat()
      if case .failure(let error) = SystemCalls.retrying({ fstat(descriptor, &status) }) {
        OpenDescriptors.close(descriptor)
        throw error.refusal("read the status", path)
      }
      guard status.st_mode & S_IFMT == S_IFREG else {
        OpenDescriptors.close(descriptor)
        throw isNoFile(path)
      }
      return PosixFile(descriptor: descriptor, path: path, isWritable: access != .read)
    // ENOENT with O_CREAT means that the directory does not exist.
    case .failure(let error) where error.code == ENOENT && access != .create:
      return nil
    // A socket, or a device without a driver.
    case .failure(let error) where [EISDIR, ENXIO, ENODEV, EOPNOTSUPP].contains(error.code):
      throw isNoFile(path)
    case .failure(let error) where error.code == ELOOP:
      throw StorageError(
        .notAStore,
        "This is a symbolic link, and links inside a store are not followed. Replace the link"
          + " with the file itself, or restore a backup.", file: path)
    case .failure(let error) where error.code == ENOTDIR:
      throw isNoDirectory(path)
    case .failure(let error):
      throw error.refusal("open", path)
    }
  }

  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem {
    switch OpenDescriptors.open(path, O_RDONLY | O_DIRECTORY) {
    case .success(let descriptor):
      return PosixDirectory(
        self, descriptor: descriptor, path: path, newFileMode: newFileMode)
    case .failure(let error) where error.code == ENOTDIR: throw Self.isNoDirectory(path)
    case .failure(let error): throw error.storageError("open the directory", path)
    }
  }

  package func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError) {
    try createDirectory(path)
    // A user with read or write permission for the files needs to list and enter the directory.
    if let mode { _ = chmod(path, mode_t(mode | (mode & 0o444) >> 2)) }
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    guard case .failure(let error) = SystemCalls.retrying({ mkdir(path, 0o755) }) else { return }
    guard error.code == EEXIST else { throw error.storageError("create the directory", path) }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      throw Self.isNoDirectory(path)
    }
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    try Self.names(
      OpenDescriptors.openBriefly { SystemCalls.open(path, O_RDONLY | O_DIRECTORY) }, path)
  }

  /// Returns the names in a directory that was opened for this purpose.
  static func names(
    _ opened: Result<Int32, SystemError>, _ path: String
  ) throws(StorageError) -> [String]? {
    let descriptor: Int32
    switch opened {
    case .success(let opened): descriptor = opened
    case .failure(let error) where error.code == ENOENT: return nil
    case .failure(let error) where error.code == ENOTDIR: throw isNoDirectory(path)
    case .failure(let error): throw error.refusal("list the directory", path)
    }
    guard let directory = fdopendir(descriptor) else {
      let error = SystemError(code: errno)
      close(descriptor)
      throw error.refusal("list the directory", path)
    }
    // Closes the descriptor too.
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else { break }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    if errno != 0 { throw SystemError(code: errno).refusal("list the directory", path) }
    return names
  }

  package func remove(_ path: String) throws(StorageError) {
    if case .failure(let error) = SystemCalls.retrying({ unlink(path) }), error.code != ENOENT {
      throw error.storageError("remove", path)
    }
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    #if canImport(Glibc)
      let result = SystemCalls.retrying { Glibc.rename(source, target) }
    #elseif canImport(Musl)
      let result = SystemCalls.retrying { Musl.rename(source, target) }
    #else
      let result = SystemCalls.retrying { Darwin.rename(source, target) }
    #endif
    if case .failure(let error) = result { throw error.storageError("rename", source) }
  }

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    switch SystemCalls.volumeType(path) {
    case .success(let type): return type
    // An unknown type is accepted here; the probe of the locks decides.
    case .failure(let error) where error.code == ENOSYS: return .number(0)
    case .failure(let error) where error.code == ENOENT || error.code == ENOTDIR: return nil
    case .failure(let error): throw error.refusal("determine the file system", path)
    }
  }

  package func watch(_ path: String) -> (any FileWatch)? { PosixFileWatch(path) }

  package func syncDirectory(_ path: String) throws(StorageError) {
    switch OpenDescriptors.openBriefly({ SystemCalls.open(path, O_RDONLY | O_DIRECTORY) }) {
    case .failure(let error):
      throw error.refusal("open the directory", path)
    case .success(let descriptor):
      defer { close(descriptor) }
      if case .failure(let error) = SystemCalls.syncNames(descriptor) {
        throw error.storageError("sync the directory", path)
      }
    }
  }

  package var wallClockMilliseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(max(0, time.tv_sec)) * 1000 + UInt64(time.tv_nsec) / 1_000_000
  }

  /// Returns the next number of a sequence with an unpredictable start.
  ///
  /// Each commit takes one, and a system call for each would double its system calls. The sequence
  /// is SplitMix64 (Steele, Lea and Flood, 2014).
  package func random() -> UInt64 {
    var mixed = sequence.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  private let sequence = Atomic<UInt64>(UInt64.random(in: .min ... .max))

  /// Reads the identity of the boot: from `/proc` on Linux, from a kernel variable on Darwin.
  ///
  /// The time of the boot, which Darwin also provides, will not do: it changes when the clock is
  /// set.
  private static func readBootIdentity() -> UInt64? {
    #if canImport(Darwin)
      var name = [UInt8](repeating: 0, count: 64)
      var size = name.count
      guard sysctlbyname("kern.bootsessionuuid", &name, &size, nil, 0) == 0 else { return nil }
      let text = name.prefix(size)
    #else
      guard let text = OpenDescriptors.readBriefly("/proc/sys/kernel/random/boot_id") else {
        return nil
      }
    #endif
    guard text.count >= 36 else { return nil }
    return Array(text.prefix(36)).withBytes { XXH64.hash($0, seed: 0) }
  }

  private static func isNoFile(_ path: String) -> StorageError {
    StorageError(.notAStore, "This is not a regular file.", file: path)
  }

  private static func isNoDirectory(_ path: String) -> StorageError {
    StorageError(.notAStore, "A store is a directory, but this is a file.", file: path)
  }
}
