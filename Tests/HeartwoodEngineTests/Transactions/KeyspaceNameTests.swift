import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The name of a keyspace")
struct KeyspaceNameTests {
  /// The two names are spellings of the same letter, and are equal as strings.
  ///
  /// In an earlier version, rows that were put under one spelling were stored under the other
  /// spelling.
  @Test func `is identified by its bytes, even within a transaction`() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed)
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        try transaction.keyspace(composed).put(1, [1])
        try transaction.keyspace(decomposed).put(2, [2])
      }
      try store.write { transaction in
        try transaction.keyspace(decomposed).put(3, [3])
        try transaction.keyspace(composed).put(4, [4])
        try transaction.removeKeyspace(composed)
      }
      let snapshot = try store.snapshot()
      let count = try snapshot.keyspace(decomposed)?.count()
      #expect(count == 2)
      #expect(try snapshot.keyspaceNames.map { Array($0.utf8) } == [Array(decomposed.utf8)])
    }
  }

  @Test func `can be changed to a name that is not in use`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        for name in ["a", "b"] { try transaction.keyspace(name).put(name, [1]) }
      }
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.renameKeyspace("a", to: "b") }
      }
      #expect(error?.kind == .invalidArgument)
      try store.write { transaction in
        try transaction.renameKeyspace("none", to: "c")
        try transaction.renameKeyspace("a", to: "d")
      }
      let snapshot = try store.snapshot()
      #expect(try snapshot.keyspaceNames == ["b", "d"])
      #expect(try snapshot.keyspace("d")?.get("a") == [1])
    }
  }
}
