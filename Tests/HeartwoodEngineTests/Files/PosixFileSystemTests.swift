import HeartwoodEngine
import HeartwoodTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("The operating system's files")
struct PosixFileSystemTests {
  let system = PosixFileSystem()
  let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private func create(_ name: String = "a") throws -> any File {
    try #require(try system.open(scratch.path(of: name), .create))
  }

  @Test(arguments: [0, 1, 3, 1024, 1025, 3000])
  func `a write takes all parts, however many`(count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    let file = try create()
    let block = ByteBlock(count: count * 100)
    generator.bytes(count * 100).withBytes { block.bytes.copy($0, to: 0) }
    var parts: [Bytes] = []
    var start = 0
    for _ in 0..<count {
      let length = min(generator.below(101), block.bytes.count - start)
      parts.append(block.bytes.bytes.slice(start, length))
      start += length
    }
    try file.write(parts, at: 77)
    #expect(try file.byteCount() == (start == 0 ? 0 : UInt64(start + 77)))
    #expect(try file.bytes(at: 77, start) == block.bytes.bytes.slice(0, start).copied())
  }

  @Test func `empty parts cause no error, however many precede the first byte`() throws {
    let file = try create()
    let bytes: [UInt8] = [1, 2, 3]
    try bytes.withBytes { bytes in
      let parts = [Bytes](repeating: bytes.slice(0, 0), count: 2500) + [bytes]
      try file.write(parts, at: 0)
    }
    #expect(try file.allBytes() == bytes)
  }

  @Test func `a read past the end is short`() throws {
    let file = try create()
    try file.write([1, 2, 3], at: 0)
    #expect(try file.bytes(at: 1, 10) == [2, 3])
    #expect(try file.bytes(at: 3, 10) == [])
    #expect(try file.bytes(at: 1 << 40, 10) == [])
  }

  @Test func `a file can be truncated and extended with zeros`() throws {
    let file = try create()
    try file.write([1, 2, 3], at: 0)
    try file.setByteCount(2)
    try file.setByteCount(4)
    try file.sync()
    #expect(try file.allBytes() == [1, 2, 0, 0])
  }

  @Test func `names can be listed, replaced and removed`() throws {
    let directory = scratch.path(of: "d")
    #expect(try system.list(directory) == nil)
    try system.createDirectory(directory)
    try system.createDirectory(directory)
    try create("d/a").write([1], at: 0)
    try create("d/b").write([2], at: 0)
    #expect(try system.list(directory).map(Set.init) == ["a", "b"])
    try system.rename(directory + "/a", to: directory + "/b")
    try system.syncDirectory(directory)
    #expect(try create("d/b").allBytes() == [1])
    try system.remove(directory + "/b")
    try system.remove(directory + "/b")
    #expect(try system.list(directory) == [])
    let error = #expect(throws: StorageError.self) {
      try system.rename(directory + "/b", to: directory + "/c")
    }
    #expect(error?.errno == ENOENT)
  }

  @Test func `a missing file is nil unless the call creates it`() throws {
    let path = scratch.path(of: "a")
    #expect(try system.open(path, .read) == nil)
    #expect(try system.open(path, .write) == nil)
    #expect(try system.open(path + "/b", .read) == nil)
    // The file cannot be created, because its parent directory does not exist.
    #expect(throws: StorageError.self) { try system.open(path + "/b", .create) }
  }

  @Test func `a directory is no file and a file is no directory`() throws {
    let path = scratch.path(of: "f")
    _ = try create("f")
    let calls: [() throws -> Void] = [
      { _ = try system.open(scratch.path, .read) }, { _ = try system.open(scratch.path, .write) },
      { _ = try system.open(scratch.path, .create) }, { _ = try system.open(path + "/a", .read) },
      { _ = try system.open(path + "/a", .create) }, { _ = try system.list(path) },
      { try system.createDirectory(path) }, { _ = try system.entering(path, newFileMode: nil) },
    ]
    for call in calls {
      let error = #expect(throws: StorageError.self) { try call() }
      #expect(error?.kind == .notAStore)
    }
  }

  @Test(.mustEnd)
  func `a pipe is rejected without waiting for its other end`() throws {
    let path = scratch.path(of: "pipe")
    #expect(mkfifo(path, 0o600) == 0)
    for access in [FileAccess.read, .write, .create] {
      let error = #expect(throws: StorageError.self) { try system.open(path, access) }
      #expect(error?.kind == .notAStore)
    }
  }

  @Test func `two openings of a file share an identity that no other file has`() throws {
    let (first, second, other) = (try create(), try create(), try create("b"))
    #expect(try first.identity() == second.identity())
    #expect(try first.identity() != other.identity())
  }

  @Test func `a mapping shows later writes`() throws {
    let file = try create()
    try file.write([UInt8](repeating: 0, count: 8192), at: 0)
    let mapping = try #require(try file.map(4096, byteCount: 1 << 20))
    try file.write([9], at: 4099)
    #expect(mapping.bytes.bytes.load8(3) == 9)
  }

  @Test func `shared mappings see each other's stores`() throws {
    let file = try create()
    try file.setByteCount(4096)
    let first = try file.mapShared(byteCount: 4096)
    let second = try create().mapShared(byteCount: 4096)
    first.bytes.store64(42, 16)
    #expect(second.bytes.bytes.load64(16) == 42)
  }

  @Test func `locks follow the locking rules`() throws {
    try expectLockRules(first: try create(), second: try create())
  }

  @Test func `locks end with the open file, even if a mapping outlives it`() throws {
    let watcher = try create()
    try watcher.setByteCount(4096)
    var holder: (any File)? = try create()
    let mapping = try holder?.mapShared(byteCount: 4096)
    #expect(try holder?.lock(.exclusive, 0..<10) == true)
    #expect(try watcher.lock(.shared, 5..<6) == false)
    holder = nil
    #expect(try watcher.lock(.shared, 5..<6))
    withExtendedLifetime(mapping) {}
  }

  @Test func `locks stay when another opening of the same file is closed`() throws {
    let (holder, watcher) = (try create(), try create())
    #expect(try holder.lock(.exclusive, 0..<10))
    _ = try create()
    #expect(try watcher.lock(.shared, 5..<6) == false)
    withExtendedLifetime(holder) {}
  }

  @Test func `the boot identity is the same for the whole process`() {
    #expect(system.bootIdentity == PosixFileSystem().bootIdentity)
  }

  @Test func `each random number is different`() {
    #expect(system.random() != system.random())
  }

  @Test(.spawning) func `a write beyond the file size limit throws and raises no signal`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      // Restore the signal's default action and unblock it, because the parent process may have
      // ignored the signal, and test threads block it.
      signal(SIGXFSZ, SIG_DFL)
      var unblocked = sigset_t()
      sigemptyset(&unblocked)
      sigaddset(&unblocked, SIGXFSZ)
      pthread_sigmask(SIG_UNBLOCK, &unblocked, nil)
      let system = PosixFileSystem()
      let file = try #require(try system.open(scratch.path(of: "a"), .create))
      var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
      #if canImport(Glibc)
        let result = setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      #else
        let result = setrlimit(RLIMIT_FSIZE, &limit)
      #endif
      #expect(result == 0)
      let error = #expect(throws: StorageError.self) {
        try file.write([UInt8](repeating: 1, count: 2000), at: 0)
      }
      #expect(error?.kind == .diskFull)
      #expect(error?.message.contains("Raise the file size limit") == true)
      let extending = #expect(throws: StorageError.self) { try file.setByteCount(5000) }
      #expect(extending?.kind == .diskFull)
    }
  }

  @Test(.spawning) func `the program keeps its own handler for the file size limit`() async {
    await #expect(processExitsWith: .success) {
      let handler: @convention(c) (Int32) -> Void = { _ in }
      signal(SIGXFSZ, handler)
      _ = PosixFileSystem()
      let found = signal(SIGXFSZ, SIG_DFL)
      guard unsafeBitCast(found, to: Int.self) == unsafeBitCast(handler, to: Int.self) else {
        exit(9)
      }
      // The first file system decides whether to install a handler. Later file systems do not
      // change this decision.
      _ = PosixFileSystem()
      guard unsafeBitCast(signal(SIGXFSZ, SIG_DFL), to: Int.self) == 0 else { exit(8) }
    }
  }

  @Test(.spawning)
  func `descriptors stay clear of standard streams and close when a program is started`()
    async
  {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchDirectory()
      // Free the first three descriptors, which the next `open` would otherwise return.
      for descriptor in 0...2 { close(Int32(descriptor)) }
      let system = PosixFileSystem()
      let file = try system.open(scratch.path(of: "a"), .create)
      let flags = (0..<64).map { fcntl($0, F_GETFD) }
      var status = stat()
      let opened = try #require(file).identity()
      // Other threads may open files too, so find the descriptor by the identity of its file.
      let own = (0..<64).filter {
        fstat($0, &status) == 0 && UInt64(status.st_ino) == opened.inode
          && UInt64(truncatingIfNeeded: status.st_dev) == opened.device
      }
      let closes = own.allSatisfy { flags[Int($0)] & FD_CLOEXEC != 0 }
      guard own.count == 1, own.allSatisfy({ $0 > 2 }), closes else { exit(9) }
    }
  }
}
