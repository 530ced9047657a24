import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that a cursor uses no memory of a state that has been freed.
@Suite("A cursor")
struct CursorTests {
  private static func fill(_ store: Store) throws {
    try store.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for number in 0..<500 { try keyspace.put(number, [UInt8](repeating: 1, count: 50)) }
    }
  }

  @Test func `releases its page if it is the last owner of its snapshot`() throws {
    try StoreFixture.inMemory().run { store in
      try Self.fill(store)
      for number in 0..<200 {
        var cursor = try store.snapshot().keyspace("k")?.cursor()
        try cursor?.moveToFirst()
        // After this commit, only the cursor holds the generation that it reads.
        try store.write { try $0.keyspace("k").put(number, [2]) }
        cursor = nil
      }
      #expect(store.files.cache.pinnedCount == 0)
    }
  }

  @Test func `releases its page if it outlives its transaction`() throws {
    try StoreFixture.inMemory().run { store in
      try Self.fill(store)
      for number in 0..<200 {
        var cursor: Cursor?
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          try keyspace.put(number, [2])
          cursor = keyspace.cursor()
          try cursor?.moveToLast()
        }
        cursor = nil
      }
      #expect(store.files.cache.pinnedCount == 0)
    }
  }
}
