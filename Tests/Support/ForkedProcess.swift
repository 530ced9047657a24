package import HeartwoodEngine

#if canImport(Glibc)
  package import Glibc
#elseif canImport(Musl)
  package import Musl
#elseif canImport(Darwin)
  package import Darwin
#endif

/// A child process created by `fork`, with a copy of all the memory of this process.
///
/// The child has only one thread. The child must not use anything that another thread of the parent
/// may have locked, such as expectations and tasks. The child reports its result as its exit
/// status.
package struct ForkedProcess {
  package let identifier: pid_t

  /// The function `fork`, looked up by name because Swift's C library modules do not provide it.
  private static let call: @convention(c) () -> pid_t = {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "fork") else {
      preconditionFailure("the C library has no fork function")
    }
    return unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
  }()

  /// Forks a child that runs `body` and exits with the status that `body` returns.
  package init(_ body: () -> Int32) {
    identifier = Self.fork()
    if identifier == 0 { _exit(body()) }
  }

  /// Runs `body`, which forks by calling its argument and then continues in both processes.
  ///
  /// - Returns: The kind of the `StorageError` that `body` threw in this process, if any, and the
  ///   exit status of the child. The status is 0 if `body` threw `forked` in the child.
  package static func within(
    _ body: (_ fork: @escaping () -> Void) throws -> Void
  ) -> (kind: StorageError.Kind?, status: Int32) {
    var identifier: pid_t?
    let kind = Self.kind { try body { if identifier == nil { identifier = fork() } } }
    guard let identifier else { return (kind, -1) }
    if identifier == 0 { _exit(kind == .forked ? 0 : 1) }
    return (kind, ForkedProcess(identifier).wait())
  }

  private init(_ identifier: pid_t) { self.identifier = identifier }

  /// Forks this process, and returns 0 in the child.
  ///
  /// An alarm signal ends the child after two minutes.
  private static func fork() -> pid_t {
    let call = call
    let identifier = call()
    precondition(identifier >= 0, "the process could not be forked")
    if identifier == 0 {
      // Unblock all signals in the child, because test threads block them.
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_UNBLOCK, &all, nil)
      signal(SIGALRM, SIG_DFL)
      alarm(120)
    }
    return identifier
  }

  /// Waits until the child has ended.
  ///
  /// - Returns: The exit status of the child, or the negated number of the signal that ended it.
  package func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(identifier, &status, 0) == -1 {
      precondition(errno == EINTR, "there is no child process to wait for")
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }

  /// Returns the kind of the error that `body` throws, or `nil` if it throws no `StorageError`.
  package static func kind(_ body: () throws -> Void) -> StorageError.Kind? {
    do { try body() } catch { return (error as? StorageError)?.kind }
    return nil
  }
}

/// Returns the descriptors of this process that refer to files in a directory.
///
/// - Parameter directory: The path of the directory. Its files are identified by device and inode
///   number.
package func descriptors(openIn directory: String) -> [Int32] {
  var identities: Set<FileIdentity> = []
  guard let stream = opendir(directory) else { return [] }
  defer { closedir(stream) }
  var status = stat()
  func identity() -> FileIdentity {
    FileIdentity(
      device: UInt64(truncatingIfNeeded: status.st_dev),
      inode: UInt64(truncatingIfNeeded: status.st_ino))
  }
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != "..", stat(directory + "/" + name, &status) == 0 {
      identities.insert(identity())
    }
  }
  return descriptors(on: identities)
}

/// Returns the descriptors of this process that refer to any of the given files.
package func descriptors(on files: Set<FileIdentity>) -> [Int32] {
  var status = stat()
  return (0..<1024).filter { descriptor in
    guard fstat(descriptor, &status) == 0 else { return false }
    return files.contains(
      FileIdentity(
        device: UInt64(truncatingIfNeeded: status.st_dev),
        inode: UInt64(truncatingIfNeeded: status.st_ino)))
  }
}
