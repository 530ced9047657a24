import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the changes that `changes(from:to:_:)` reports in special cases.
@Suite("The changes between two generations")
struct ChangesTests {
  private struct Mistake: Error {}

  private func row(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number & 0xFF), count: 50) }

  private func load(_ store: Store, _ name: String, _ count: Int) throws {
    try store.write { transaction in
      let rows = try transaction.keyspace(name)
      try rows.load(sorted: (0..<count).lazy.map { (Key($0), row($0)) })
    }
  }

  private func changes(
    _ store: Store, _ source: Snapshot, _ target: Snapshot
  ) throws -> [StoreChange] {
    var changes: [StoreChange] = []
    try store.changes(from: source, to: target) { changes.append($0) }
    #expect(store.files.cache.pinnedCount == 0)
    return changes
  }

  private func change(_ kind: StoreChange.Kind, _ name: String, _ number: Int) -> StoreChange {
    StoreChange(keyspace: name, key: Key(number).bytes, kind: kind)
  }

  /// Returns the changes that turn the new generation into the old one.
  private func reversed(_ changes: [StoreChange]) -> [StoreChange] {
    let kinds: [StoreChange.Kind: StoreChange.Kind] = [
      .inserted: .deleted, .deleted: .inserted, .updated: .updated,
    ]
    return changes.map { change in
      StoreChange(
        keyspace: change.keyspace, key: change.key, kind: kinds[change.kind] ?? change.kind)
    }
  }

  @Test func `are the keys inserted, updated and deleted, by keyspace and key`() throws {
    try StoreFixture.inMemory().run { store in
      try load(store, "b", 1000)
      try load(store, "a", 10)
      try load(store, "untouched", 10)
      let before = try store.snapshot()
      try store.write { transaction in
        let first = try transaction.keyspace("a")
        let second = try transaction.keyspace("b")
        try second.put(-5, [1])
        try second.put(500, [2])
        // Write an equal value, and insert a key and delete it again. Neither counts as a change.
        try second.put(501, row(501))
        try second.put(-7, [1])
        _ = try second.delete(-7)
        _ = try second.delete(900)
        try first.put(10, [3])
        _ = try first.delete(0)
      }
      let after = try store.snapshot()
      let expected = [
        change(.deleted, "a", 0), change(.inserted, "a", 10), change(.inserted, "b", -5),
        change(.updated, "b", 500), change(.deleted, "b", 900),
      ]
      #expect(try changes(store, before, after) == expected)
      #expect(try changes(store, after, before) == reversed(expected))
      #expect(try changes(store, after, after) == [])
    }
  }

  @Test func `lead from an empty store to the full one and back`() throws {
    try StoreFixture.inMemory().run { store in
      let empty = try store.snapshot()
      try load(store, "rows", 3000)
      let full = try store.snapshot()
      let expected = (0..<3000).map { change(.inserted, "rows", $0) }
      #expect(try changes(store, empty, full) == expected)
      #expect(try changes(store, full, empty) == reversed(expected))
    }
  }

  @Test func `do not depend on split and merged nodes`() throws {
    try StoreFixture.inMemory().run { store in
      try load(store, "rows", 4000)
      let before = try store.snapshot()
      try store.write { transaction in
        let rows = try transaction.keyspace("rows")
        for number in 100..<3900 { _ = try rows.delete(number) }
      }
      let between = try store.snapshot()
      try store.write { transaction in
        let rows = try transaction.keyspace("rows")
        // Reinsert most of the deleted rows with their old values. These rows are then in different
        // leaves.
        for number in 100..<3900 where number % 10 != 0 { try rows.put(number, row(number)) }
        for number in 5000..<9000 { try rows.put(number, row(number)) }
      }
      let after = try store.snapshot()
      let gone = (100..<3900).map { change(.deleted, "rows", $0) }
      #expect(try changes(store, before, between) == gone)
      let rest = gone.enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
      let added = (5000..<9000).map { change(.inserted, "rows", $0) }
      #expect(try changes(store, before, after) == rest + added)
      #expect(try changes(store, after, before) == reversed(rest + added))
    }
  }

  @Test func `compare a recreated keyspace with its predecessor`() throws {
    try StoreFixture.inMemory().run { store in
      try load(store, "rows", 500)
      try store.write { try $0.keyspace("empty").put(1, [1]) }
      try store.write { _ = try $0.keyspace("empty").delete(1) }
      let before = try store.snapshot()
      try store.write { transaction in
        try transaction.removeKeyspace("rows")
        try transaction.removeKeyspace("empty")
        _ = try transaction.keyspace("empty, too")
      }
      let between = try store.snapshot()
      #expect(
        try changes(store, before, between) == (0..<500).map { change(.deleted, "rows", $0) })
      try store.write { transaction in
        let rows = try transaction.keyspace("rows")
        for number in 100..<600 { try rows.put(number, number == 333 ? [1] : row(number)) }
      }
      let expected =
        (0..<100).map { change(.deleted, "rows", $0) } + [change(.updated, "rows", 333)]
        + (500..<600).map { change(.inserted, "rows", $0) }
      #expect(try changes(store, before, try store.snapshot()) == expected)
    }
  }

  @Test(arguments: [3000, 10_000, TestScale.pick(quick: 1, all: 5) << 20])
  func `compare large values byte by byte`(byteCount: Int) throws {
    try StoreFixture.inMemory().run { store in
      let value = [UInt8](repeating: 7, count: byteCount)
      var other = value
      other[byteCount - 1] = 8
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<6 { try keyspace.put(number, value) }
      }
      let before = try store.snapshot()
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try keyspace.put(1, value)
        try keyspace.put(2, other)
        try keyspace.put(3, value + [7])
        try keyspace.put(4, [7])
        _ = try keyspace.delete(5)
      }
      let after = try store.snapshot()
      let expected = [
        change(.updated, "k", 2), change(.updated, "k", 3), change(.updated, "k", 4),
        change(.deleted, "k", 5),
      ]
      #expect(try changes(store, before, after) == expected)
      #expect(try changes(store, after, before) == reversed(expected))
    }
  }

  @Test func `order names by their bytes and keep spellings apart`() throws {
    try StoreFixture.inMemory().run { store in
      // The two lists spell the same letter differently. The two spellings are equal as strings,
      // but other names sort between them.
      let early = ["z", "\u{E9}", "\u{1F333}", "a\u{0}"]
      let late = ["e\u{301}", "\u{FF5E}", "a", "a\u{0}b", "a\u{0}"]
      for name in early { try store.write { try $0.keyspace(name).put(1, [1]) } }
      let before = try store.snapshot()
      for name in early { try store.write { try $0.removeKeyspace(name) } }
      for name in late { try store.write { try $0.keyspace(name).put(1, [2]) } }
      let found = try changes(store, before, try store.snapshot())
      let kinds: [StoreChange.Kind] = [
        .inserted, .updated, .inserted, .inserted, .deleted, .deleted, .inserted, .deleted,
      ]
      #expect(found.map(\.kind) == kinds)
      let names = ["a", "a\u{0}", "a\u{0}b", "e\u{301}", "z", "\u{E9}", "\u{FF5E}", "\u{1F333}"]
      let isSpelled = found.map(\.keyspace).elementsEqual(names) { $0.utf8.elementsEqual($1.utf8) }
      #expect(isSpelled)
    }
  }

  @Test func `are the same whatever checkpoints run in between`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      try load(store, "rows", 2000)
      try store.checkpoint()
      try store.write { try $0.keyspace("rows").put(3, [1]) }
      let before = try store.snapshot()
      // This checkpoint advances the page file to the older generation. The newest state then no
      // longer records the changes since that generation.
      try store.checkpoint()
      var expected: [StoreChange] = []
      for number in stride(from: 10, to: 1990, by: 90) {
        try store.write { try $0.keyspace("rows").put(number, [2]) }
        expected.append(change(.updated, "rows", number))
        try store.checkpoint()
      }
      #expect(try changes(store, before, try store.snapshot()) == expected)
    }
  }

  @Test func `work between generations that are read back from the log`() throws {
    let fixture = try StoreFixture.onDisk()
    var generations: [Generation] = []
    try fixture.run { store in
      try load(store, "rows", 2000)
      try store.checkpoint()
      for number in 0..<20 {
        generations.append(
          try store.write { transaction in
            try transaction.keyspace("rows").put(number * 100, [2])
            _ = try transaction.keyspace("rows").delete(number * 100 + 1)
          })
      }
      for (first, last) in [(3, 4), (0, 19), (18, 5)] {
        // These generations are not held, so their states must be rebuilt from the files.
        let source = try store.snapshot(at: generations[first])
        let target = try store.snapshot(at: generations[last])
        let numbers = first < last ? first + 1...last : last + 1...first
        let expected = numbers.flatMap { number in
          [change(.updated, "rows", number * 100), change(.deleted, "rows", number * 100 + 1)]
        }
        #expect(
          try changes(store, source, target) == (first < last ? expected : reversed(expected)))
      }
    }
  }

  @Test func `rethrow the error of the caller's closure`() throws {
    try StoreFixture.inMemory().run { store in
      let before = try store.snapshot()
      try load(store, "rows", 1000)
      let after = try store.snapshot()
      var count = 0
      #expect(throws: Mistake.self) {
        try store.changes(from: before, to: after) { _ in
          count += 1
          if count == 700 { throw Mistake() }
        }
      }
      #expect(count == 700)
      #expect(store.files.cache.pinnedCount == 0)
    }
  }

  @Test func `may be written to the store itself`() throws {
    try StoreFixture.inMemory().run { store in
      let before = try store.snapshot()
      try load(store, "rows", 300)
      try store.changes(from: before, to: try store.snapshot()) { change in
        try store.write { try $0.keyspace("journal").put(Key(unverified: change.key), [1]) }
      }
      #expect(try store.snapshot().keyspace("journal")?.count() == 300)
    }
  }

  @Test(.evidence("U4"))
  func `throw for snapshots of another opening and for a closed store`() throws {
    let fixture = StoreFixture.inMemory()
    let store = try fixture.open()
    let own = try store.snapshot()
    let other = try StoreFixture.inMemory().open()
    let foreign = try other.snapshot()
    for (source, target) in [(own, foreign), (foreign, own), (foreign, foreign)] {
      let error = #expect(throws: StorageError.self) { try changes(store, source, target) }
      #expect(error?.kind == .foreignStore)
    }
    try StoreFixture.expectSound(store)
    try store.close()
    let error = #expect(throws: StorageError.self) { try changes(store, own, own) }
    #expect(error?.kind == .closed)
  }

  @Test func `cost in proportion to the changes, not to the store`() throws {
    var lookups: [Int] = []
    for count in [20_000, TestScale.pick(quick: 80_000, all: 200_000)] {
      try StoreFixture.inMemory().run { store in
        try load(store, "rows", count)
        let before = try store.snapshot()
        try store.write { transaction in
          let rows = try transaction.keyspace("rows")
          for number in 0..<100 { try rows.put(number * (count / 100), [1]) }
        }
        let after = try store.snapshot()
        let start = store.statistics.cacheLookupCount
        #expect(try changes(store, before, after).count == 100)
        lookups.append(store.statistics.cacheLookupCount - start)
      }
    }
    // The comparison looks up two catalogs, two bitmaps, 100 old leaves and 100 new leaves. Each
    // leaf is looked up twice.
    #expect(lookups == [404, 404])
  }

  @Test func `are refused in a transaction for a snapshot of another store`() throws {
    let other = try StoreFixture.inMemory().open()
    let snapshot = try other.snapshot()
    try StoreFixture.inMemory().run { store in
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.changes(to: snapshot) { _ in } }
      }
      #expect(error?.kind == .foreignStore)
    }
    try StoreFixture.expectSound(other)
    try other.close()
  }
}
