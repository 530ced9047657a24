import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests directories and the reservation of space, which behave the same in all file systems.
@Suite("A file system")
struct DirectoryTests {
  enum Kind: CaseIterable, Sendable { case posix, memory, simulated }

  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private func system(_ kind: Kind) throws -> (any FileSystem, root: String) {
    switch kind {
    case .posix: (PosixFileSystem(), directory.path)
    case .memory: (MemoryFileSystem(), "")
    case .simulated: (SimulatedDisk(), "")
    }
  }

  @Test(arguments: Kind.allCases)
  func `renames a directory with all its files`(kind: Kind) throws {
    let (system, root) = try system(kind)
    try system.createDirectory(root + "/a")
    try system.createDirectory(root + "/a/inner")
    let open = try #require(try system.open(root + "/a/inner/file", .create))
    try open.write([1, 2], at: 0)
    _ = try system.open(root + "/ab", .create)
    try system.rename(root + "/a", to: root + "/b")
    #expect(try system.list(root + "/a") == nil)
    #expect(try Set(system.list(root + "/") ?? []) == ["ab", "b"])
    #expect(try system.list(root + "/b") == ["inner"])
    let moved = try #require(try system.open(root + "/b/inner/file", .read))
    try open.write([3], at: 2)
    #expect(try moved.allBytes() == [1, 2, 3])
    #expect(try moved.identity() == open.identity())
    // A directory cannot replace a nonempty directory or a file.
    try system.createDirectory(root + "/c")
    _ = try system.open(root + "/c/file", .create)
    for target in ["/c", "/ab"] {
      #expect(throws: StorageError.self) { try system.rename(root + "/b", to: root + target) }
    }
    #expect(throws: StorageError.self) { try system.rename(root + "/a", to: root + "/d") }
    #expect(try system.list(root + "/b") == ["inner"])
  }

  @Test(arguments: Kind.allCases)
  func `reserves space after the end of a file and changes nothing before it`(kind: Kind) throws {
    let (system, root) = try system(kind)
    let file = try #require(try system.open(root + "/file", .create))
    try file.write([7, 8, 9], at: 0)
    try file.reserve(byteCount: 10_000)
    #expect(try file.byteCount() == 10_000)
    #expect(try file.bytes(at: 0, 5) == [7, 8, 9, 0, 0])
    try file.reserve(byteCount: 4000)
    #expect(try file.byteCount() == 10_000)
  }

  @Test(arguments: Kind.allCases)
  func `removes a directory only if it is empty`(kind: Kind) throws {
    let (system, root) = try system(kind)
    try system.removeDirectory(root + "/a")
    try system.createDirectory(root + "/a")
    _ = try system.create(root + "/a/file")
    _ = try system.create(root + "/b")
    let calls: [() throws -> Void] = [
      { try system.removeDirectory(root + "/a") }, { try system.removeDirectory(root + "/b") },
      { try system.remove(root + "/a") }, { try system.rename(root + "/b", to: root + "/a") },
    ]
    for call in calls { #expect(throws: StorageError.self) { try call() } }
    #expect(try system.list(root + "/a") == ["file"])
    try system.remove(root + "/a/file")
    try system.removeDirectory(root + "/a")
    #expect(try system.list(root + "/a") == nil)
  }

  @Test(arguments: [Kind.posix, .memory])
  func `punches no bytes in an empty range or after the end of a file`(kind: Kind) throws {
    let (system, root) = try system(kind)
    let file = try system.create(root + "/file")
    try file.write([7, 8, 9], at: 0)
    #expect(try file.punch(1..<1))
    _ = try file.punch(4096..<8192)
    #expect(try file.allBytes() == [7, 8, 9])
  }

  @Test(arguments: [Kind.posix, .memory])
  func `ends the wait of a watch when its file is touched`(kind: Kind) throws {
    let (system, root) = try system(kind)
    let file = try system.create(root + "/file")
    let watch = try #require(system.watch(root + "/file"))
    let start = SystemThread.monotonicMilliseconds
    try file.touch()
    watch.wait(milliseconds: 100_000)
    #expect(SystemThread.monotonicMilliseconds - start < 50_000)
    let reading = try #require(try system.open(root + "/file", .read))
    #expect((try? reading.touch()) == nil || kind == .posix)
    #expect(system.watch(root + "/none") == nil)
    #expect(SimulatedDisk().watch("/file") == nil)
  }

  @Test func `that crashes has a renamed directory under one of its names`() throws {
    let disk = SimulatedDisk(seed: 1)
    try disk.createDirectory("/a")
    let file = try #require(try disk.open("/a/file", .create))
    try file.write([1], at: 0)
    try file.sync()
    try disk.syncDirectory("/a")
    try disk.syncDirectory("/")
    try disk.rename("/a", to: "/b")
    #expect(disk.crashed(.nothing).bytes(of: "/a/file") == [1])
    #expect(try disk.crashed(.nothing).list("/b") == nil)
    #expect(disk.crashed(.everything).bytes(of: "/b/file") == [1])
    #expect(try disk.crashed(.everything).list("/a") == nil)
    try disk.syncDirectory("/")
    #expect(disk.crashed(.nothing).bytes(of: "/b/file") == [1])
    #expect(disk.crashed(.nothing).bytes(of: "/a/file") == nil)
  }
}
