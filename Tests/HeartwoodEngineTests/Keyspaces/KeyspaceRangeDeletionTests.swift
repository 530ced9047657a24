import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares the deletion of key ranges in a keyspace with the same deletions in a sorted array.
@Suite("A range of keys")
struct KeyspaceRangeDeletionTests {
  private typealias Row = KeyspaceModel.Row

  private func rows(_ random: inout SeededGenerator, count: Int, pageByteCount: Int) -> [Row] {
    var rows: [Key: [UInt8]] = [:]
    for _ in 0..<count {
      let name = KeyspaceModel.names[random.below(KeyspaceModel.names.count)]
      let key = KeyspaceModel.key(name, &random).encoded
      let longer = Key(unverified: key.bytes + Key(random.below(40)).bytes)
      rows[longer] =
        random.isTrue(in256: 12)
        ? KeyspaceModel.value(&random, pageByteCount: pageByteCount)
        : random.bytes(random.below(60))
    }
    return rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Returns a random range.
  ///
  /// Each bound is an existing key, a key between two existing keys, or absent.
  private func range(_ random: inout SeededGenerator, _ rows: [Row]) -> KeyRange {
    func bound() -> Key? {
      guard !rows.isEmpty, !random.isTrue(in256: 30) else { return nil }
      let key = rows[random.below(rows.count)].key
      return random.isTrue(in256: 128) ? key : Key(unverified: key.bytes + [0x20])
    }
    let bounds = (bound(), bound())
    guard let first = bounds.0, let second = bounds.1 else {
      return KeyRange(from: bounds.0, upTo: bounds.1)
    }
    // Sometimes return an empty range with reversed bounds.
    return random.isTrue(in256: 10)
      ? KeyRange(from: max(first, second), upTo: min(first, second))
      : KeyRange(from: min(first, second), upTo: max(first, second))
  }

  private func expect(
    _ store: Store, _ rows: [Row], _ context: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let keyspace = try #require(try store.snapshot().keyspace("rows"))
    var found: [Row] = []
    try keyspace.forEach { key, value in
      found.append((Key(unverified: key.array), value.array))
      return true
    }
    let isSame = found.elementsEqual(rows) { $0.key == $1.key && $0.value == $1.value }
    #expect(isSame, Comment(rawValue: context), sourceLocation: location)
    #expect(
      try keyspace.count() == rows.count, Comment(rawValue: context), sourceLocation: location)
  }

  @Test(arguments: TestScale.seeds(quick: 1, all: 12))
  func `is removed with the same result as key by key`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var options = StoreOptions()
    options.pageByteCount = 4096
    options.segmentByteCount = 4096 * 64
    if seed % 3 == 0 { options.transactionMemoryByteCount = 1 << 18 }
    try StoreFixture.inMemory(options).run { store in
      var expected: [Row] = []
      for step in 0..<25 {
        let new = rows(&random, count: random.below(3) == 0 ? 900 : 60, pageByteCount: 4096)
        let range = range(&random, expected + new)
        let isRolledBack = random.isTrue(in256: 60)
        try store.write { transaction in
          let keyspace = try transaction.keyspace("rows")
          for (key, value) in new { try keyspace.put(key, value) }
          var merged = Dictionary(uniqueKeysWithValues: expected.map { ($0.key, $0.value) })
          for (key, value) in new { merged[key] = value }
          expected = merged.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
          func remove() throws {
            let count = try keyspace.delete(in: range)
            #expect(
              count == expected.count { range.contains($0.key) }, "seed \(seed), step \(step)")
          }
          guard !isRolledBack else {
            try? transaction.savepoint { _ in
              try remove()
              throw RolledBack()
            }
            return
          }
          try remove()
          expected.removeAll { range.contains($0.key) }
        }
        try expect(store, expected, "seed \(seed), step \(step)")
        guard step % 5 == 4 else { continue }
        #expect(try store.verify().findings == [], "seed \(seed), step \(step)")
      }
    }
  }

  private struct RolledBack: Error {}

  @Test(arguments: TestScale.seeds(quick: 6, all: 20))
  func `can be deleted before entries are appended or loaded`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var options = StoreOptions()
    options.pageByteCount = 4096
    options.segmentByteCount = 4096 * 64
    // Four entries fit in a leaf, so the tree has three levels.
    let value = [UInt8](repeating: 1, count: 900)
    try StoreFixture.inMemory(options).run { store in
      var numbers = Array(stride(from: 0, to: 30_000, by: 10))
      try store.write { transaction in
        let keyspace = try transaction.keyspace("rows")
        try keyspace.load(sorted: numbers.map { (Key($0), value) })
        // Sometimes delete everything, but usually delete the last keys.
        let lower = random.isTrue(in256: 80) ? 0 : random.below(30_000)
        let upper = random.isTrue(in256: 80) ? 30_000 : nil
        try keyspace.delete(in: KeyRange(from: Key(lower), upTo: upper.map { Key($0) }))
        numbers.removeAll { $0 >= lower }
        let next = (numbers.last ?? -1) + 1
        let new = (next..<next + 1 + random.below(50)).map { $0 }
        let entries = new.map { (Key($0), value) }
        if numbers.isEmpty, random.isTrue(in256: 128) {
          try keyspace.load(sorted: entries)
        } else {
          try keyspace.append { loader in
            for (key, value) in entries { try loader.append(key, value.span.bytes) }
          }
        }
        numbers += new
      }
      let keyspace = try #require(try store.snapshot().keyspace("rows"))
      var found: [Int] = []
      try keyspace.forEach { key, _ in
        found.append(try Key.decode(key, as: Int.self))
        return true
      }
      #expect(found == numbers, "seed \(seed)")
      for number in numbers {
        #expect(try keyspace.get(number) == value, "\(number), seed \(seed)")
      }
      #expect(try store.verify().findings == [], "seed \(seed)")
    }
  }

  @Test func `of all keys leaves an empty keyspace and frees its pages`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("rows")
        try keyspace.load { loader in
          for number in 0..<50_000 { try loader.append(number, [1, 2, 3].span.bytes) }
        }
      }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("rows")
        #expect(try keyspace.delete(in: KeyRange()) == 50_000)
        #expect(try keyspace.count() == 0 && keyspace.cursor().moveToFirst() == false)
        try keyspace.put(7, [7])
        #expect(try keyspace.delete(in: KeyRange(from: 8)) == 0)
        #expect(try keyspace.delete(in: KeyRange(from: 7, upTo: 8)) == 1)
      }
      #expect(try store.verify().findings == [])
    }
  }

  @Test func `is removed by changing only the pages at its ends`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        try transaction.keyspace("rows").load { loader in
          for number in 0..<50_000 { try loader.append(number, [1, 2, 3].span.bytes) }
        }
      }
      let before = store.statistics.activity.loggedPageCount
      try store.write { transaction in
        let range = KeyRange(from: 1000, upTo: 49_000)
        let count = try transaction.keyspace("rows").delete(in: range)
        #expect(count == 48_000)
      }
      // The commit logs two leaves, the branches above, the root, the catalog, and bitmap pages.
      #expect(store.statistics.activity.loggedPageCount - before < 20)
    }
  }

  @Test func `can be given by the first components of its keys`() throws {
    let keys: [Key] = [
      Key("a"), Key("a", 1), Key("a", "x"), Key("a\0"), Key("a\0b", 1), Key("ab"), Key("ab", 1),
      Key("b"), Key(1), Key(1, 2), Key(2), Key(), Key([UInt8]([1])), Key([UInt8]([1]), 5),
      Key([UInt8]([1, 0])), Key(1.5), Key(1.5, "z"),
    ]
    func found(_ range: KeyRange) -> [Key] { keys.filter { range.contains($0) } }
    #expect(found(KeyRange(prefix: Key("a"))) == [Key("a"), Key("a", 1), Key("a", "x")])
    #expect(found(KeyRange(prefix: Key(1))) == [Key(1), Key(1, 2)])
    #expect(found(KeyRange(prefix: Key(1.5))) == [Key(1.5), Key(1.5, "z")])
    #expect(
      found(KeyRange(prefix: Key([UInt8]([1])))) == [Key([UInt8]([1])), Key([UInt8]([1]), 5)])
    #expect(found(KeyRange(prefix: Key())).count == keys.count)
    #expect(
      found(KeyRange(stringPrefix: "a")).count == 7 && found(KeyRange(stringPrefix: "")).count == 8)
    #expect(found(KeyRange(stringPrefix: "a\0")) == [Key("a\0"), Key("a\0b", 1)])
    #expect(found(KeyRange("a", stringPrefix: "x")) == [Key("a", "x")])
    #expect(found(KeyRange("a", stringPrefix: "y")) == [])
  }

  @Test func `can be read in both directions and by a cursor`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("rows")
        for number in 0..<100 { try keyspace.put(Key("n", number), [UInt8(number)]) }
        try keyspace.put(Key("m"), [200])
        try keyspace.put("o", [UInt8](repeating: 9, count: 10_000))
      }
      let keyspace = try #require(try store.snapshot().keyspace("rows"))
      var found: [UInt8] = []
      try keyspace.forEach(in: KeyRange(prefix: Key("n")), reversed: true) { _, value in
        found += value.array
        return true
      }
      #expect(found == Array((0..<100).reversed()))
      let cursor = keyspace.cursor()
      #expect(try cursor.withEntry { _, _ in 1 } == nil)
      #expect(try cursor.seek(before: Key("n", 40)))
      #expect(try cursor.withEntry { _, value in value.array } == [39])
      #expect(try cursor.seek(before: Key("m")) == false)
      #expect(try cursor.seek("o") && cursor.withEntry { $1.byteCount } == 10_000)
      let key = try cursor.withEntry { key, _ in try Key.decode(key, as: String.self) }
      #expect(key == "o")
    }
  }

  @Test func `after the last key is appended to a keyspace with entries`() throws {
    try StoreFixture.inMemory().run { store in
      for part in 0..<5 {
        try store.write { transaction in
          try transaction.keyspace("rows").append { loader in
            for number in part * 3000..<(part + 1) * 3000 {
              let count = number % 1000 == 0 ? 9000 : 20
              try loader.append(number, [UInt8](repeating: UInt8(part), count: count).span.bytes)
            }
          }
        }
      }
      let keyspace = try #require(try store.snapshot().keyspace("rows"))
      #expect(try keyspace.count() == 15_000)
      var next = 0
      try keyspace.forEach { key, value in
        let number = try Key.decode(key, as: Int.self)
        #expect(number == next)
        #expect(value.byteCount == (next % 1000 == 0 ? 9000 : 20))
        next += 1
        return true
      }
      #expect(next == 15_000)
      #expect(throws: StorageError.self) {
        try store.write { transaction in
          try transaction.keyspace("rows").append { try $0.append(14_999, [1].span.bytes) }
        }
      }
      #expect(try store.snapshot().keyspace("rows")?.count() == 15_000)
    }
  }
}
