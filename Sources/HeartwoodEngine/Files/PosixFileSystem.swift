import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The operating system's file system, optionally with one directory held open.
///
/// Names in the held directory are resolved relative to its descriptor. A store therefore keeps
/// using the directory that it opened, even if that directory is moved or replaced. Symbolic links
/// are not followed, and only regular files are opened. This type is thread-safe, because the
/// descriptor never changes.
package final class PosixFileSystem: FileSystem {
  package let bootIdentity: UInt64?
  private let held: HeldDirectory?

  /// The domain shared by all instances, because they all access the same files.
  package var domain: ObjectIdentifier { ObjectIdentifier(PosixFileSystem.self) }

  package init() {
    _ = Self.ignoresFileSizeSignal
    bootIdentity = Self.readBootIdentity()
    held = nil
  }

  private init(_ held: HeldDirectory, bootIdentity: UInt64?) {
    self.bootIdentity = bootIdentity
    self.held = held
  }

  /// A Boolean value that indicates whether this process ignores `SIGXFSZ`.
  ///
  /// If the signal is ignored, a write beyond the file size limit fails with an error instead of
  /// ending the process. The value is `false` if the program has its own handler.
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
    // `SIG_DFL` is the null pointer on every supported system. Leave any other handler in place.
    guard handler == nil else { return false }
    signal(SIGXFSZ, SIG_IGN)
    return true
  }()

  /// Returns the directory and the name to pass to a system call for `path`.
  ///
  /// For a file directly in the held directory, these are that directory and the file's name. For
  /// any other file, the name is `path` itself.
  private func place(
    _ path: String
  ) throws(StorageError) -> (directory: Int32, name: String, held: HeldDirectory?) {
    guard let held, let name = held.name(path) else { return (AT_FDCWD, path, nil) }
    return (try held.descriptor(), name, held)
  }

  // MARK: Files

  package func open(_ path: String, _ access: FileAccess) throws(StorageError) -> (any File)? {
    let place = try place(path)
    guard access == .create, let held = place.held else {
      return try open(place.name, in: place.directory, path, access)
    }
    var attempts = Attempts()
    while true {
      if let file = try open(place.name, in: place.directory, path, .write) { return file }
      if let file = try held.create(place.name, path) { return file }
      try attempts.next("create the file", path)
    }
  }

  private func open(
    _ name: String, in directory: Int32, _ path: String, _ access: FileAccess
  ) throws(StorageError) -> (any File)? {
    let flags =
      switch access {
      // Use O_NONBLOCK, because opening a named pipe could otherwise block forever.
      case .read: O_RDONLY | O_NONBLOCK | O_NOFOLLOW
      case .write: O_RDWR | O_NONBLOCK | O_NOFOLLOW
      case .create: O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW
      }
    switch OpenDescriptors.enter({ SystemCalls.open(name, flags, in: directory) }) {
    case .success(let descriptor):
      var status = stat()
      if case .failure(let error) = SystemCalls.retrying({ fstat(descriptor, &status) }) {
        OpenDescriptors.close(descriptor)
        throw error.refusal("read the status of the file", path)
      }
      guard status.st_mode & S_IFMT == S_IFREG else {
        OpenDescriptors.close(descriptor)
        throw Self.isNoFile(path)
      }
      return PosixFile(descriptor: descriptor, path: path, isWritable: access != .read)
    // Return `nil` only if `O_CREAT` was not passed. With that flag, `ENOENT` means that the parent
    // directory does not exist.
    case .failure(let error) where error.code == ENOENT && access != .create:
      return nil
    // The path names a directory, a socket, or a device without a driver.
    case .failure(let error) where [EISDIR, ENXIO, ENODEV, EOPNOTSUPP].contains(error.code):
      throw Self.isNoFile(path)
    case .failure(let error) where error.code == ELOOP:
      throw StorageError(
        .notAStore,
        "This file is a symbolic link, which Heartwood does not follow. Replace the link"
          + " with the file itself, or restore a backup.", file: path)
    case .failure(let error) where error.code == ENOTDIR:
      throw MemoryPath.isNoDirectory(path)
    case .failure(let error):
      throw error.refusal("open the file", path)
    }
  }

  package func identity(of path: String) throws(StorageError) -> FileIdentity? {
    let place = try place(path)
    return HeldDirectory.status(of: place.name, in: place.directory).map(FileIdentity.init)
  }

  package func mode(of path: String) throws(StorageError) -> UInt16? {
    let place = try place(path)
    return HeldDirectory.status(of: place.name, in: place.directory).map {
      UInt16($0.st_mode & 0o777)
    }
  }

  package func remove(_ path: String) throws(StorageError) {
    let place = try place(path)
    let result = SystemCalls.retrying { unlinkat(place.directory, place.name, 0) }
    if case .failure(let error) = result, error.code == ENOENT { return }
    _ = try result.permitted("remove the file", path)
  }

  package func rename(_ source: String, to target: String) throws(StorageError) {
    let (old, new) = (try place(source), try place(target))
    let result = SystemCalls.retrying {
      renameat(old.directory, old.name, new.directory, new.name)
    }
    _ = try result.permitted("rename the file or directory", source)
  }

  package func watch(_ path: String) -> (any FileWatch)? { PosixFileWatch(path) }

  // MARK: Directories

  package func resolvingLinks(_ path: String) -> String {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(cString: resolved)
    }
    // `ENOENT` can mean that the path is a dangling link. In that case, resolve the link's target.
    // Links that form a loop cause `ELOOP` instead.
    guard errno == ENOENT, let target = Self.target(ofLink: path) else { return path }
    let parent = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    return resolvingLinks(target.hasPrefix("/") ? target : parent + target)
  }

  private static func target(ofLink path: String) -> String? {
    let block = ByteBlock(count: Int(PATH_MAX))
    defer { block.keep() }
    let count = block.bytes.base.withMemoryRebound(to: CChar.self, capacity: block.bytes.count) {
      readlink(path, $0, block.bytes.count)
    }
    guard count > 0 else { return nil }
    return String(decoding: block.bytes.bytes.slice(0, count).copied(), as: UTF8.self)
  }

  package func entering(
    _ path: String, newFileMode: UInt16?
  ) throws(StorageError) -> any FileSystem {
    let result = OpenDescriptors.open(path, O_RDONLY | O_DIRECTORY)
    if case .failure(let error) = result, error.code == ENOTDIR {
      throw MemoryPath.isNoDirectory(path)
    }
    let descriptor = try result.get("open the directory", path)
    return PosixFileSystem(
      HeldDirectory(descriptor, path: path, newFileMode: newFileMode), bootIdentity: bootIdentity)
  }

  package func createDirectory(_ path: String, forFilesOf mode: UInt16?) throws(StorageError) {
    try createDirectory(path)
    // Users who may read the files must be able to list and enter the directory.
    if let mode { _ = chmod(path, mode_t(mode | (mode & 0o444) >> 2)) }
  }

  package func createDirectory(_ path: String) throws(StorageError) {
    guard case .failure(let error) = SystemCalls.retrying({ mkdir(path, 0o755) }) else { return }
    guard error.code == EEXIST else { throw error.storageError("create the directory", path) }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      throw MemoryPath.isNoDirectory(path)
    }
  }

  package func removeDirectory(_ path: String) throws(StorageError) {
    let result = SystemCalls.retrying { rmdir(path) }
    if case .failure(let error) = result, error.code == ENOENT { return }
    _ = try result.get("remove the directory", path)
  }

  package func stamp(of path: String) throws(StorageError) -> DirectoryStamp? {
    guard let held, path == held.path else { return .constant }
    return try held.stamp()
  }

  package func list(_ path: String) throws(StorageError) -> [String]? {
    let (directory, name) =
      path == held?.path ? (try held?.descriptor() ?? AT_FDCWD, ".") : (AT_FDCWD, path)
    let opened = OpenDescriptors.openBriefly {
      SystemCalls.open(name, O_RDONLY | O_DIRECTORY, in: directory)
    }
    let descriptor: Int32
    switch opened {
    case .success(let opened): descriptor = opened
    case .failure(let error) where error.code == ENOENT: return nil
    case .failure(let error) where error.code == ENOTDIR: throw MemoryPath.isNoDirectory(path)
    case .failure(let error): throw error.refusal("list the directory", path)
    }
    guard let directory = fdopendir(descriptor) else {
      let error = SystemError(code: errno)
      close(descriptor)
      throw error.refusal("list the directory", path)
    }
    // Do not close the descriptor separately, because `closedir` also closes it.
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

  package func volumeType(of path: String) throws(StorageError) -> VolumeType? {
    switch SystemCalls.volumeType(path) {
    case .success(let type): return type
    // Accept a volume of unknown type here; `probeLocks` decides whether it can be used.
    case .failure(let error) where error.code == ENOSYS: return .number(0)
    case .failure(let error) where error.code == ENOENT || error.code == ENOTDIR: return nil
    case .failure(let error): throw error.refusal("determine the type of the file system", path)
    }
  }

  package func syncDirectory(_ path: String) throws(StorageError) {
    if let held, path == held.path {
      _ = try SystemCalls.syncNames(try held.descriptor()).get("sync the directory", path)
      return
    }
    let opened = OpenDescriptors.openBriefly { SystemCalls.open(path, O_RDONLY | O_DIRECTORY) }
    let descriptor = try opened.found("open the directory", path)
    defer { close(descriptor) }
    _ = try SystemCalls.syncNames(descriptor).get("sync the directory", path)
  }

  // MARK: Clock and randomness

  package var wallClockMilliseconds: UInt64 { SystemThread.wallClockMilliseconds }

  /// Returns the next number of a SplitMix64 sequence (Steele, Lea and Flood, 2014).
  ///
  /// The sequence starts from an unpredictable seed. Requesting each number from the system instead
  /// would double the number of system calls in a commit.
  package func random() -> UInt64 {
    var mixed = sequence.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  private let sequence = Atomic<UInt64>(UInt64.random(in: .min ... .max))

  /// Reads the identity of the current boot.
  ///
  /// Unlike the boot time, this identity does not depend on the clock.
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
    StorageError(
      .notAStore,
      "The item at this path is not a regular file. Check the path of the store.", file: path)
  }
}
