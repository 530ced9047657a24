import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests a store as a program uses it, with real files, and with both mapped and buffered reading.
@Suite("A store")
struct StoreTests {
  @Test(arguments: [StoreOptions.Access.mapped, .buffered])
  func `keeps its contents across closing and opening`(access: StoreOptions.Access) throws {
    let directory = try ScratchDirectory()
    var options = StoreOptions()
    options.access = access
    let first = try Store(at: directory.path(of: "s"), options: options)
    let generation = try first.write { transaction in
      let quakes = try transaction.keyspace("quakes")
      try quakes.put("nc73275410", [1, 2, 3])
      try quakes.put(Key("nc", Int64(73_275_410)), [4])
      try quakes.put(42, [5])
    }
    #expect(try first.snapshot().generation == generation)
    #expect(try first.verify().findings == [])
    try first.close()
    let second = try Store(at: directory.path(of: "s"), options: options)
    let quakes = try #require(try second.snapshot().keyspace("quakes"))
    #expect(try quakes.get("nc73275410") == [1, 2, 3])
    #expect(try quakes.get(Key("nc", Int64(73_275_410))) == [4])
    #expect(try quakes.get(42) == [5])
    #expect(try quakes.get("missing") == nil)
    #expect(try quakes.count() == 3)
    #expect(try second.verify().findings == [])
    try second.close()
  }

  @Test func `accepts the bytes of a span as a key`() throws {
    let store = try Store.inMemory()
    let key: [UInt8] = [3, 0, 7]
    try store.write { transaction in
      let keyspace = try transaction.keyspace("spans")
      try keyspace.put(key.span.bytes, [1])
      #expect(try keyspace.get(key) == [1])
      var count = 0
      try keyspace.read(key.span.bytes, range: 0..<1) { count += $0.byteCount }
      #expect(count == 1)
    }
    let spans = try #require(try store.snapshot().keyspace("spans"))
    #expect(try spans.get(key.span.bytes) == [1])
    #expect(try spans.withValue(key.span.bytes) { $0.byteCount } == 1)
    try store.write { try $0.keyspace("spans").delete(key.span.bytes) }
    #expect(try store.snapshot().keyspace("spans")?.count() == 0)
    #expect(try store.verify().findings == [])
  }
}
