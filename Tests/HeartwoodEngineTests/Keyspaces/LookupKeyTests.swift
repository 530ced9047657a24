import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A key of a custom type")
struct LookupKeyTests {
  /// A program's own type, encoded as two key components.
  private struct Version: KeyConvertible {
    var major: Int
    var minor: Int

    func encode(into encoder: inout KeyEncoder) {
      encoder.append(major)
      encoder.append(minor)
    }

    static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Version {
      Version(major: try decoder.decodeInteger(), minor: try decoder.decodeInteger())
    }
  }

  /// A key that runs `before` and then calls `body` the requested number of times.
  private struct Eager: LookupKey {
    var count = 1
    var before: () -> Void = {}

    func withEncodedKey(
      _ body: (borrowing EncodedKey) throws(StorageError) -> Void
    ) throws(StorageError) {
      before()
      for _ in 0..<count { try 7.withEncodedKey(body) }
    }
  }

  private func withStore(_ body: (Store) throws -> Void) throws {
    let store = try Store.inMemory(options: StoreOptions())
    try body(store)
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test func `finds the value stored under its components`() throws {
    try withStore { store in
      let (version, absent) = (Version(major: 6, minor: 3), Int?.none)
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try keyspace.put(version, [1])
        try keyspace.put(absent, [2])
        try keyspace.put(true, byteCount: 1) { try $0.append([3]) }
        #expect(try keyspace.get(version) == [1] && keyspace.delete(absent))
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.get(Key(6, 3)) == [1] && keyspace.valueByteCount(version) == 1)
      #expect(try keyspace.get(absent) == nil && keyspace.get(true) == [3])
      #expect(try keyspace.withValue(version) { $0.byteCount } == 1)
      var bytes = 0
      #expect(try keyspace.read(version, range: 0..<1) { bytes += $0.byteCount })
      #expect(try keyspace.forEachChunk(version) { bytes += $0.byteCount } && bytes == 2)
    }
  }

  @Test func `that is not encoded throws`() throws {
    try withStore { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for step in [
          { _ = try keyspace.get(Eager(count: 0)) }, { try keyspace.put(Eager(count: 0), [1]) },
          { try keyspace.delete(Eager(count: 0)) },
        ] as [() throws -> Void] {
          let error = #expect(throws: StorageError.self) { try step() }
          #expect(error?.kind == .invalidArgument)
        }
        #expect(try keyspace.count() == 0)
      }
    }
  }

  @Test func `may change the transaction while it is encoded`() throws {
    try withStore { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        let fill = Eager {
          for number in 0..<2000 { try? keyspace.put(number, [UInt8](repeating: 1, count: 90)) }
        }
        #expect(try keyspace.get(fill)?.count == 90)
        let clear = Eager { for number in 0..<2000 { _ = try? keyspace.delete(number) } }
        #expect(try keyspace.withValue(clear) { $0.byteCount } == nil)
        try keyspace.put(fill, [5])
        #expect(try keyspace.get(7) == [5] && keyspace.count() == 2000)
      }
    }
  }
}
