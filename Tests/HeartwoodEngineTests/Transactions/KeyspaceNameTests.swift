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
}
