import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the limits on keys and values with sizes just below and just above each limit.
@Suite("The limit", .serialized)
struct LimitsTests {
  private static let accesses: [StoreOptions.Access] = [.mapped, .buffered]

  private func run(
    _ access: StoreOptions.Access, _ body: (Store) throws -> Void
  ) throws {
    var options = StoreOptions()
    options.access = access
    options.pageByteCount = 4096
    options.durability = .normal
    try StoreFixture.onDisk(options).run(#_sourceLocation, body)
  }

  private func expectTooLarge(
    _ sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let error = #expect(throws: StorageError.self, sourceLocation: sourceLocation) { try body() }
    #expect(error?.kind == .tooLarge, sourceLocation: sourceLocation)
  }

  /// Puts a value of zeros in chunks, so that the complete value is never in memory.
  private func putZeros(_ key: Int, _ byteCount: Int, in keyspace: KeyspaceWriter) throws {
    let chunk = [UInt8](repeating: 0, count: 1 << 20)
    try keyspace.put(key, byteCount: byteCount) { writer in
      for _ in 0..<byteCount / chunk.count { try writer.append(chunk) }
      try writer.append(Array(chunk.prefix(byteCount % chunk.count)))
    }
  }

  /// Expects a value of zeros, checking only its beginning, middle and end.
  private func expectZeros(_ key: Int, _ byteCount: Int, in keyspace: KeyspaceReader) throws {
    #expect(try keyspace.valueByteCount(key) == byteCount)
    for range in [0..<5000, byteCount / 2..<byteCount / 2 + 9000, byteCount - 5000..<byteCount] {
      var found: [UInt8] = []
      #expect(try keyspace.read(key, range: range) { found += $0.array })
      #expect(found == [UInt8](repeating: 0, count: range.count))
    }
    let error = #expect(throws: StorageError.self) {
      try keyspace.read(key, range: byteCount - 1..<byteCount + 1) { _ in }
    }
    #expect(error?.kind == .invalidArgument)
  }

  @Test(arguments: accesses)
  func `of keys is 960 encoded bytes, of one component or several`(access: StoreOptions.Access)
    throws
  {
    // The tag of a component takes one byte. If there are several components, the terminator of the
    // first component takes another byte.
    let fitting = [0, 1, 958, 959]
    try run(access) { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for length in fitting {
          try keyspace.put([UInt8](repeating: 1, count: length), [1])
          try keyspace.put(String(repeating: "s", count: length), [2])
        }
        try keyspace.put(Key("a", String(repeating: "s", count: 956)), [3])
        try keyspace.put([UInt8](repeating: 0, count: 479), [4])
        let tooLong = [UInt8](repeating: 1, count: 960)
        let text = String(repeating: "s", count: 960)
        let tuple = Key("a", String(repeating: "s", count: 957))
        expectTooLarge { try keyspace.put(tooLong, [1]) }
        expectTooLarge { try keyspace.put(tooLong.span.bytes, [1]) }
        expectTooLarge { try keyspace.put(text, [1]) }
        expectTooLarge { try keyspace.put(tuple, [1]) }
        // Each zero byte is encoded as two bytes.
        expectTooLarge { try keyspace.put([UInt8](repeating: 0, count: 480), [1]) }
        expectTooLarge { try keyspace.put(text, byteCount: 1) { _ in Issue.record("called") } }
        expectTooLarge { try keyspace.delete(text) }
        expectTooLarge { _ = try keyspace.get(tuple) }
        expectTooLarge { try keyspace.getMany(["a", text]) { _, _ in } }
        #expect(try keyspace.count() == 10)
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.count() == 10)
      for length in fitting {
        #expect(try keyspace.get([UInt8](repeating: 1, count: length)) == [1])
        #expect(try keyspace.get(String(repeating: "s", count: length)) == [2])
      }
      #expect(try keyspace.get(Key("a", String(repeating: "s", count: 956))) == [3])
      #expect(try keyspace.get([UInt8](repeating: 0, count: 479)) == [4])
      let text = String(repeating: "s", count: 960)
      expectTooLarge { _ = try keyspace.get(text) }
      expectTooLarge { _ = try keyspace.valueByteCount(text) }
      expectTooLarge { try keyspace.forEachChunk(text) { _ in } }
      expectTooLarge { try keyspace.read(text, range: 0..<1) { _ in } }
    }
  }

  @Test(arguments: accesses)
  func `of values in a leaf is a quarter of it, including the key`(
    access: StoreOptions.Access
  ) throws {
    // An entry may take (4,096 - 40) / 4 bytes. The limit includes 14 bytes of overhead and all
    // bytes of the key after the first 8 bytes. An integer key has one such byte.
    let quarter = (4096 - 40) / 4
    let long = [UInt8](repeating: 1, count: 100)
    try run(access) { store in
      /// Returns the number of pages logged by a commit that consists of a single put.
      func pages(_ key: Key, _ length: Int) throws -> Int {
        let before = store.statistics.activity.loggedPageCount
        let value = [UInt8](repeating: 7, count: length)
        try store.write { try $0.keyspace("k").put(key, value) }
        #expect(try store.snapshot().keyspace("k")?.get(key) == value)
        return store.statistics.activity.loggedPageCount - before
      }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for key in [Key(1), Key(long)] { try keyspace.put(key, []) }
      }
      for (key, rest) in [(Key(1), 1), (Key(long), 93)] {
        // The commit logs only the leaf.
        for length in [0, 1, quarter - 14 - rest] { #expect(try pages(key, length) == 1) }
        // The commit logs the leaf, a page for the value, and the bitmap.
        #expect(try pages(key, quarter - 14 - rest + 1) == 3)
        #expect(try pages(key, 0) == 2)
      }
    }
  }

  @Test(arguments: TestScale.some(accesses))
  func `of one index page does not limit the value`(access: StoreOptions.Access) throws {
    let edge = (4096 - 32) * (4096 - 32) / 4
    try run(access) { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for length in [edge - 1, edge, edge + 1] { try putZeros(length, length, in: keyspace) }
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      for length in [edge - 1, edge, edge + 1] {
        try expectZeros(length, length, in: keyspace)
        #expect(try keyspace.withValue(length) { $0.byteCount } == length)
      }
    }
  }

  @Test(.enabled(if: TestScale.current >= .all))
  func `of copies is 64 megabytes`() throws {
    try run(.mapped) { store in
      let limit = Limits.maxCopiedValueByteCount
      try store.write { try putZeros(1, limit, in: try $0.keyspace("k")) }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.withValue(1) { $0.byteCount } == limit)
    }
  }

  @Test(.enabled(if: TestScale.current >= .all))
  func `of copies does not apply to reads by range or in chunks`() throws {
    let length = Limits.maxCopiedValueByteCount + 1
    try run(.mapped) { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try putZeros(1, length, in: keyspace)
        expectTooLarge { _ = try keyspace.get(1) }
        expectTooLarge { try keyspace.withValue(1) { _ in } }
        expectTooLarge { try keyspace.forEach { _, _ in true } }
        expectTooLarge { try keyspace.getMany([1]) { _, _ in } }
        let cursor = keyspace.cursor()
        try cursor.moveToFirst()
        expectTooLarge { _ = try cursor.value }
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      expectTooLarge { _ = try keyspace.get(1) }
      expectTooLarge { try keyspace.withValue(1) { _ in } }
      expectTooLarge { try keyspace.forEach { _, _ in true } }
      expectTooLarge { try keyspace.getMany([1]) { _, _ in } }
      let cursor = keyspace.cursor()
      try cursor.moveToFirst()
      expectTooLarge { _ = try cursor.value }
      try expectZeros(1, length, in: keyspace)
      var count = 0
      #expect(try keyspace.forEachChunk(1) { count += $0.byteCount })
      #expect(count == length)
    }
  }

  @Test func `of values is a gigabyte, and one byte more changes nothing`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let generation = store.statistics.newestGeneration
      // The store rejects the oversized value without reading it, so this memory is never accessed.
      let tooMany = UnsafeMutableRawPointer.allocate(
        byteCount: Limits.maxValueByteCount + 1, alignment: 4096)
      defer { tooMany.deallocate() }
      let span = UnsafeRawBufferPointer(start: tooMany, count: Limits.maxValueByteCount + 1)
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        expectTooLarge { try keyspace.put(1, span.bytes) }
        expectTooLarge {
          try keyspace.put(1, byteCount: Limits.maxValueByteCount + 1) { _ in
            Issue.record("called")
          }
        }
        expectTooLarge {
          try keyspace.put(2, byteCount: .max) { _ in Issue.record("called") }
        }
        #expect(try keyspace.get(1) == [1])
      }
      #expect(store.statistics.newestGeneration == generation)
    }
  }

  @Test(.enabled(if: TestScale.current >= .long), arguments: accesses)
  func `of values can be reached, and its bytes can be read`(access: StoreOptions.Access) throws {
    try run(access) { store in
      let limit = Limits.maxValueByteCount
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try putZeros(1, limit, in: keyspace)
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      try expectZeros(1, limit, in: keyspace)
      expectTooLarge { _ = try keyspace.get(1) }
      var count = 0
      #expect(try keyspace.forEachChunk(1) { count += $0.byteCount })
      #expect(count == limit)
      try store.checkpoint()
    }
  }
}
