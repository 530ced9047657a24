import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that opening a path with arbitrary contents either opens a store, or reports an error
/// without changing anything.
@Suite("An opening")
struct OpeningTests {
  /// Returns a closed store on disk that contains a few entries.
  private func sample(_ options: StoreOptions = StoreOptions()) throws -> StoreFixture {
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1, 2, 3]) }
    }
    return fixture
  }

  /// The map no longer lists the frames that the older page file still needs.
  @Test(.evidence("D10"), .evidence("B2"))
  func `of a page file older than the map throws`() throws {
    let fixture = try StoreFixture.onDisk()
    var older: [UInt8] = []
    try fixture.run { store in
      try store.keep(store.write { try $0.keyspace("k").put(1, [1]) }, as: "x")
      for number in 2...9 { try store.write { try $0.keyspace("k").put(number, [1]) } }
      older = try fixture.bytes(of: "pages")
      try store.checkpoint()
    }
    try fixture.write(older, to: "pages")
    // Remove the counters, because they describe the state of the newer page file.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    try expectRefusal(fixture, .corrupt)
  }

  /// Expects that opening throws an error of the given kind, with a file name and a proper message,
  /// and changes no files.
  private func expectRefusal(
    _ fixture: StoreFixture, _ kind: StorageError.Kind,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try fixture.allBytes()
    for isReadOnly in [false, true] {
      var fixture = fixture
      fixture.options.isReadOnly = isReadOnly
      let error = #expect(throws: StorageError.self, sourceLocation: location) {
        try fixture.open()
      }
      #expect(error?.kind == kind, "\(String(describing: error))", sourceLocation: location)
      if let error { Self.expectSentence(error, location) }
      var after = try fixture.allBytes()
      // Opening creates the lock file if it is missing. This is allowed, because the file is always
      // empty.
      if before["locks"] == nil, after["locks"] == [] { after["locks"] = nil }
      // Report file names instead of bytes, because bytes would be useless in a message.
      let names = Set(before.keys).union(after.keys)
      // In a debug build, comparing `Data` is many times faster than comparing arrays.
      let changed = names.filter { before[$0].map { Data($0) } != after[$0].map { Data($0) } }
        .sorted()
      #expect(changed == [], "changed by the opening", sourceLocation: location)
    }
  }

  private static func expectSentence(_ error: StorageError, _ location: SourceLocation) {
    let comment: Comment = "\(error)"
    #expect(error.message.first?.isUppercase == true, comment, sourceLocation: location)
    #expect(error.message.hasSuffix("."), comment, sourceLocation: location)
    #expect(error.message.count > 15, comment, sourceLocation: location)
    #expect(error.file?.isEmpty == false, comment, sourceLocation: location)
    if let file = error.file {
      #expect(error.description.contains(file), comment, sourceLocation: location)
    }
  }

  // MARK: Other files

  @Test(.evidence("B4")) func `of a directory with other files throws`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.write(Array("mine".utf8), to: "letter.txt")
    try expectRefusal(fixture, .notAStore)
    #expect(try fixture.names() == ["letter.txt"])
  }

  @Test(.evidence("B4"), .evidence("E6"), arguments: [[], ["locks"], ["pages"]])
  func `for reading of a directory without a complete store throws`(names: [String]) throws {
    var fixture = try StoreFixture.onDisk()
    try fixture.fileSystem.createDirectory(fixture.path)
    for name in names { try fixture.write([], to: name) }
    fixture.options.isReadOnly = true
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .notAStore)
    #expect(try fixture.names() == names)
  }

  /// An access to a mapping beyond the end of its file would end the process.
  @Test(.evidence("B4")) func `for reading maps no segment that is too short`() throws {
    var options = StoreOptions()
    options.segmentByteCount = 64 << 10
    options.checkpointLogByteCount = 0
    options.maintenance = .inline
    let original = try StoreFixture.onDisk(options)
    var files: [String: [UInt8]] = [:]
    try original.run { store in
      try store.write { try $0.keyspace("k").put(1, [1, 2, 3]) }
      files = try original.allBytes()
    }
    var fixture = try StoreFixture.onDisk(options)
    fixture.options.isReadOnly = true
    for (name, bytes) in files where name != "counters" {
      let used = (bytes.lastIndex { $0 != 0 } ?? 0) / 4096 * 4096 + 4096
      try fixture.write(name.hasPrefix("wal-") ? Array(bytes.prefix(used)) : bytes, to: name)
    }
    let store = try fixture.open()
    #expect(try store.snapshot().keyspace("k")?.get(1) == [1, 2, 3])
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test func `of a single name is relative to the working directory`() throws {
    let fileSystem = MemoryFileSystem()
    let options = StoreFixture.on(fileSystem).options
    let store = try Store(at: "name", options: options, fileSystem: fileSystem)
    try store.write { try $0.keyspace("k").put(1, [1]) }
    try store.close()
    #expect(try fileSystem.list("/") == ["name"])
    let again = try Store(at: "./name", options: options, fileSystem: fileSystem)
    #expect(try again.snapshot().keyspace("k")?.get(1) == [1])
    try StoreFixture.expectSound(again)
    try again.close()
  }

  @Test(.evidence("B4")) func `of a file throws`() throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "file")
    try Data("text".utf8).write(to: URL(fileURLWithPath: path))
    for isReadOnly in [false, true] {
      var options = StoreOptions()
      options.isReadOnly = isReadOnly
      for filePath in [path, path + "/store"] {
        let error = #expect(throws: StorageError.self) { try Store(at: filePath, options: options) }
        #expect(error?.kind == .notAStore)
        if let error { Self.expectSentence(error, #_sourceLocation) }
      }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("text".utf8))
  }

  @Test(
    .evidence("B4"),
    arguments: [
      "", "text", String(repeating: "A page file this is not. ", count: 20_000),
    ])
  func `of a page file without a signature throws`(text: String) throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.write(Array(text.utf8), to: "pages")
    try fixture.write([], to: "locks")
    try expectRefusal(fixture, .notAStore)
  }

  @Test(.evidence("B4"))
  func `of a directory without a store does not touch an incomplete page file`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.write(Array("text".utf8), to: "pages")
    try fixture.write(Array("more text".utf8), to: "pages.new")
    try fixture.write([], to: "locks")
    try expectRefusal(fixture, .notAStore)
  }

  @Test func `of a path without a parent directory throws`() throws {
    let directory = try ScratchDirectory()
    let error = #expect(throws: StorageError.self) {
      try Store(at: directory.path(of: "none") + "/store")
    }
    #expect(error?.kind == .io)
    #expect(error?.errno == 2)
    if let error { Self.expectSentence(error, #_sourceLocation) }
    var options = StoreOptions()
    options.isReadOnly = true
    let missing = #expect(throws: StorageError.self) {
      try Store(at: directory.path(of: "none"), options: options)
    }
    #expect(missing?.kind == .notAStore)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
  }

  // MARK: Other stores and formats

  /// Writes the given value to a field of both header slots, and recomputes their hashes.
  private func setHeader(_ fixture: StoreFixture, _ field: Field, _ value: UInt32) throws {
    let bytes = try fixture.bytes(of: "pages")
    let block = ByteBlock(count: bytes.count)
    bytes.withBytes { block.bytes.copy($0, to: 0) }
    for offset in HeaderSlotLayout.offsets.map({ Int($0) }) {
      let slot = block.bytes.slice(offset, HeaderSlotLayout.byteCount)
      guard slot.bytes.load64(0) == HeaderSlotLayout.magicNumber else { continue }
      slot.store32(value, field.offset)
      let hash = XXH64.hash(slot.bytes.slice(0, HeaderSlotLayout.hash.offset), seed: 0)
      slot.store64(hash, HeaderSlotLayout.hash.offset)
    }
    try fixture.write(withExtendedLifetime(block) { block.bytes.bytes.copied() }, to: "pages")
  }

  @Test(
    .evidence("B4"),
    arguments: TestScale.some(
      [
        (HeaderSlotLayout.version, 2), (HeaderSlotLayout.features, 1),
        (HeaderSlotLayout.features, 0x8000_0000), (HeaderSlotLayout.pageByteCount, 3000),
        (HeaderSlotLayout.framesPerSegment, 7), (HeaderSlotLayout.footerFrames, 0),
      ] as [(Field, UInt32)]))
  func `of a store in another format throws`(field: Field, value: UInt32) throws {
    let fixture = try sample()
    try setHeader(fixture, field, value)
    try expectRefusal(fixture, .incompatibleFormat)
    // A program that uses the other format may be creating a page file at this moment.
    try fixture.write([1, 2, 3], to: "pages.new")
    try expectRefusal(fixture, .incompatibleFormat)
  }

  // MARK: Damage

  @Test(
    .evidence("B2"), .evidence("D10"),
    arguments: TestScale.some([
      0, 1, 4095, 4096, 65_536, 70_000, 131_071, 131_072, 131_073, 139_264,
    ]))
  func `of a truncated page file throws`(count: Int) throws {
    let fixture = try sample()
    let bytes = try fixture.bytes(of: "pages")
    #expect(bytes.count > 139_264)
    try fixture.write(Array(bytes.prefix(count)), to: "pages")
    try expectRefusal(fixture, count < 8 ? .notAStore : .corrupt)
  }

  @Test(.evidence("B2"), .evidence("D10"))
  func `of a log without its page file throws`() throws {
    let fixture = try sample()
    try fixture.fileSystem.remove(fixture.path(of: "pages"))
    let before = try fixture.allBytes()
    #expect(before.keys.contains { $0.hasPrefix("wal-") })
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .corrupt)
    #expect(error?.file == fixture.path(of: "pages"))
    let isUnchanged = try fixture.allBytes() == before
    #expect(isUnchanged)
  }

  @Test(.evidence("B2"), .evidence("D10"))
  func `of a log with a stray segment throws`() throws {
    let fixture = try sample()
    try fixture.write([1, 2, 3], to: "wal-7ffffffffffffc01")
    try expectRefusal(fixture, .corrupt)
  }

  @Test(.evidence("D10"), arguments: [0, 5000, 70_000])
  func `of a truncated log that was synced throws and changes nothing`(count: Int) throws {
    let copy = try abandonedCopy()
    let names = try copy.names().filter { $0.hasPrefix("wal-") }
    try #require(names.count > 3)
    try copy.write(Array(try copy.bytes(of: names[1]).prefix(count % 65_536)), to: names[1])
    try expectRefusal(copy, .corrupt)
  }

  /// Returns the files of a store whose process died and left the last commits only in the log.
  ///
  /// One of these commits spans several segments. All commits except the last one were synced.
  private func abandonedCopy() throws -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    let fixture = StoreFixture.inMemory(options)
    let store = try fixture.open()
    for number in 0..<20 { try store.write { try $0.keyspace("k").put(number, [1]) } }
    try store.write { try $0.keyspace("k").put(20, [UInt8](repeating: 1, count: 200_000)) }
    try store.write { try $0.keyspace("k").put(21, [1]) }
    let copy = StoreFixture.inMemory(options)
    for (name, bytes) in try fixture.allBytes() where name != "counters" && name != "locks" {
      try copy.write(bytes, to: name)
    }
    try copy.write([], to: "locks")
    try StoreFixture.expectSound(store)
    try store.close()
    return copy
  }

  @Test(.evidence("D10")) func `throws if a synced log segment is missing`() throws {
    let complete = try abandonedCopy()
    let names = try complete.names().filter { $0.hasPrefix("wal-") }
    try complete.run { store throws in
      #expect(try store.snapshot().keyspace("k")?.count() == 22)
    }
    // Leave out the last three segments, which were created in advance and are empty.
    for position in 0..<names.count - 3 {
      let copy = try abandonedCopy()
      try copy.fileSystem.remove(copy.path(of: names[position]))
      try expectRefusal(copy, .corrupt)
    }
  }

  // Use a separate process, because a failure of this test would trap and end the process.
  @Test(.spawning, .evidence("B2")) func `is not disturbed by a stray segment that appears later`()
    async
  {
    await #expect(processExitsWith: .success) {
      var options = StoreOptions()
      options.segmentByteCount = 64 << 10
      let fixture = StoreFixture.inMemory(options)
      let store = try fixture.open()
      try store.write { try $0.keyspace("k").put(1, [1]) }
      try fixture.write([1, 2, 3], to: "wal-fffffffffffffff1")
      _ = try? store.checkpoint()
      #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    }
  }

  @Test func `removes an incomplete page file`() throws {
    let fixture = try sample()
    try fixture.write([1, 2, 3], to: "pages.new")
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("k")?.get(1) == [1, 2, 3])
    }
    #expect(try !fixture.names().contains("pages.new"))
    let fresh = try StoreFixture.onDisk()
    try fresh.write([UInt8](repeating: 9, count: 200_000), to: "pages.new")
    try fresh.run { store throws in
      #expect(try store.snapshot().keyspaceNames == [])
    }
    #expect(try !fresh.names().contains("pages.new"))
  }

  @Test func `creates the files missing beside page file and log`() throws {
    let fixture = try sample()
    for name in ["locks", "counters"] {
      try fixture.fileSystem.remove(fixture.path(of: name))
      try fixture.run { store throws in
        #expect(try store.snapshot().keyspace("k")?.get(1) == [1, 2, 3])
      }
    }
  }

  // MARK: Options

  @Test(arguments: [4096, 16_384, 65_536])
  func `keeps the sizes with which the store was created`(pageByteCount: Int) throws {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * 16
    let fixture = try sample(options)
    for other in [4096, 8192, 65_536, 5, -1] {
      var again = fixture
      again.options.pageByteCount = other
      again.options.segmentByteCount = 1 << 20
      try again.run { store throws in
        #expect(store.statistics.pageByteCount == pageByteCount)
        #expect(store.statistics.logByteCount % (pageByteCount * 16) == 0)
        #expect(try store.snapshot().keyspace("k")?.get(1) == [1, 2, 3])
      }
    }
  }

  @Test(arguments: [
    (0, 1 << 20), (5000, 1 << 20), (2048, 1 << 20), (131_072, 4 << 20), (-4096, 1 << 20),
    (4096, 0), (4096, 4096 * 7), (4096, 4096 * 12), (65_536, 1 << 18), (4096, -1),
  ])
  func `rejects sizes that no store can have`(pageByteCount: Int, segment: Int) throws {
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = segment
    let fixture = try StoreFixture.onDisk(options)
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .invalidArgument)
    #expect(try !fixture.names().contains("pages"))
    #expect(error?.message.hasSuffix(".") == true)
  }
}
