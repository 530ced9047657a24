import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A file system in memory")
struct MemoryFileSystemTests {
  let system = MemoryFileSystem()

  private func create(_ path: String) throws -> any File {
    try #require(try system.open(path, .create))
  }

  @Test func `a missing file is nil unless the call creates it`() throws {
    #expect(try system.open("a", .read) == nil)
    #expect(try system.open("a", .write) == nil)
    _ = try create("a")
    #expect(try system.open("a", .read) != nil)
  }

  @Test(arguments: TestScale.some([1, 2, 3, 4] as [UInt64]))
  func `reads show what was written, cut and extended across chunks`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let file = try create("a")
    var model: [UInt8] = []
    for _ in 0..<60 {
      let offset = generator.below(600_000)
      if generator.isTrue(in256: 64) {
        try file.setByteCount(UInt64(offset))
        model = Array(model.prefix(offset))
        model += [UInt8](repeating: 0, count: offset - model.count)
      } else {
        let bytes = generator.bytes(generator.below(300_000) + 1)
        let end = offset + bytes.count
        model += [UInt8](repeating: 0, count: max(0, end - model.count))
        model.replaceSubrange(offset..<end, with: bytes)
        let half = bytes.count / 2
        try Array(bytes[..<half]).withBytes { first in
          try Array(bytes[half...]).withBytes { second in
            try file.write([first, second], at: UInt64(offset))
          }
        }
      }
      #expect(try file.allBytes() == model, "seed \(seed)")
    }
  }

  @Test func `a read past the end is short`() throws {
    let file = try create("a")
    try file.write([1, 2, 3], at: 0)
    #expect(try file.bytes(at: 1, 10) == [2, 3])
    #expect(try file.bytes(at: 3, 10) == [])
    #expect(try file.bytes(at: 1 << 40, 10) == [])
  }

  @Test func `names can be listed, replaced and removed`() throws {
    try system.createDirectory("/d")
    try system.createDirectory("/d")
    try create("/d/a").write([1], at: 0)
    try create("d/b").write([2], at: 0)
    #expect(try system.list("d/").map(Set.init) == ["a", "b"])
    #expect(try system.list("/").map(Set.init) == ["d"])
    #expect(try system.list("elsewhere") == nil)
    try system.rename("d/a", to: "d/b")
    #expect(try create("d/b").allBytes() == [1])
    try system.remove("d/b")
    try system.remove("d/b")
    #expect(try system.list("d") == [])
    #expect(throws: StorageError.self) { try system.rename("d/b", to: "d/c") }
  }

  @Test func `a path may contain dots and empty names`() throws {
    try system.createDirectory("/d")
    _ = try create("/d/./a")
    for path in ["//d", "/d/.", "./d", "/d/../d", "/d/b/.."] {
      #expect(try system.list(path) == ["a"], "\(path)")
    }
  }

  @Test func `a directory is no file and a file is no directory`() throws {
    try system.createDirectory("d")
    _ = try create("f")
    let calls: [() throws -> Void] = [
      { _ = try system.open("d", .create) }, { _ = try system.open("f/a", .read) },
      { _ = try system.open("f/a", .create) }, { _ = try system.list("f") },
      { try system.createDirectory("f") },
    ]
    for call in calls {
      let error = #expect(throws: StorageError.self) { try call() }
      #expect(error?.kind == .notAStore)
    }
    #expect(throws: StorageError.self) { try system.open("missing/a", .create) }
  }

  @Test func `a removed file stays usable while it is open`() throws {
    let file = try create("a")
    try file.write([1], at: 0)
    try system.remove("a")
    let other = try create("a")
    #expect(try file.allBytes() == [1])
    #expect(try other.byteCount() == 0)
    #expect(try file.identity() != other.identity())
  }

  @Test func `a file opened for reading rejects changes`() throws {
    try create("a").write([1], at: 0)
    let file = try #require(try system.open("a", .read))
    #expect(throws: StorageError.self) { try file.write([2], at: 0) }
    #expect(throws: StorageError.self) { try file.setByteCount(0) }
    #expect(throws: StorageError.self) { try file.lock(.exclusive, 0..<1) }
    #expect(try file.allBytes() == [1])
  }

  @Test func `all shared mappings of a file are the same memory`() throws {
    let first = try create("a")
    try first.write([7], at: 4095)
    let second = try create("a")
    #expect(try first.map(0, byteCount: 4096) == nil)
    let mapping = try first.mapShared(byteCount: 4096)
    #expect(mapping.bytes.bytes.load8(4095) == 7)
    mapping.bytes.store64(42, 8)
    #expect(try second.mapShared(byteCount: 4096).bytes.bytes.load64(8) == 42)
    #expect(throws: StorageError.self) { try second.mapShared(byteCount: 4097) }
  }

  @Test func `locks follow the locking rules`() throws {
    try expectLockRules(first: try create("a"), second: try create("a"))
  }

  @Test func `locks last exactly as long as the open file`() throws {
    let watcher = try create("a")
    var holder: (any File)? = try create("a")
    #expect(try holder?.lock(.exclusive, 0..<10) == true)
    _ = try create("a")
    #expect(try watcher.lock(.shared, 5..<6) == false)
    holder = nil
    #expect(try watcher.lock(.shared, 5..<6))
  }

  @Test func `threads write concurrently`() async throws {
    let file = try create("a")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for step in 0..<200 {
            let offset = UInt64((step * 4 + writer) * 1000)
            try file.write([UInt8](repeating: UInt8(writer), count: 1000), at: offset)
          }
        }
      }
      try await group.waitForAll()
    }
    for index in 0..<800 {
      #expect(
        try file.bytes(at: UInt64(index * 1000), 1000)
          == [UInt8](repeating: UInt8(index % 4), count: 1000))
    }
  }
}
