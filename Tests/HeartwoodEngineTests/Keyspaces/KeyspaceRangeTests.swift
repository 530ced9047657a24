import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests iteration over key ranges in both directions, in snapshots and in transactions.
@Suite("A range of keys")
struct KeyspaceRangeTests {
  private static let keys =
    ((0..<300).map { Key($0 * 10) } + (0..<50).map { Key("s\($0)") }).sorted()

  /// Bounds that are equal to keys, between keys, before the first key, or after the last key.
  private static let bounds: [Key?] = [
    nil, Key(-5), Key(0), Key(5), Key(10), Key(1490), Key(1495), Key(2990), Key(2991),
    Key("s"), Key("s49"), Key("t"), Key([UInt8]([1])),
  ]

  private func fill(_ store: Store) throws {
    try store.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for key in Self.keys { try keyspace.put(key, Array(key.bytes.reversed())) }
      try keyspace.put(Key(10), [UInt8](repeating: 3, count: 9000))
      try keyspace.put(Key(20), [UInt8](repeating: 4, count: 3000))
      _ = try transaction.keyspace("empty")
    }
  }

  /// The type of the iteration method, which readers and writers share.
  private typealias Walk = (
    _ lower: Key?, _ upper: Key?, _ reversed: Bool, _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws -> Void

  private func expected(_ lower: Key?, _ upper: Key?, _ reversed: Bool) -> [Key] {
    let inRange = Self.keys.filter { key in
      (lower.map { $0 <= key } ?? true) && (upper.map { key < $0 } ?? true)
    }
    return reversed ? inRange.reversed() : inRange
  }

  private func checkAll(_ walk: Walk) throws {
    for lower in Self.bounds {
      for upper in Self.bounds {
        for reversed in [false, true] {
          let expected = expected(lower, upper, reversed)
          for stop in [Int.max, 1, 2, expected.count] where stop > 0 {
            var found: [Key] = []
            try walk(lower, upper, reversed) { key, _ in
              found.append(Key(unverified: key.array))
              return found.count < stop
            }
            #expect(
              found == Array(expected.prefix(stop)),
              "\(String(describing: lower)) to \(String(describing: upper)), \(reversed)")
          }
        }
      }
    }
  }

  @Test func `is walked in both directions in a snapshot`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      try checkAll { try keyspace.forEach(from: $0, upTo: $1, reversed: $2, $3) }
    }
  }

  @Test func `is walked in both directions in a transaction`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try checkAll { try keyspace.forEach(from: $0, upTo: $1, reversed: $2, $3) }
      }
    }
  }

  @Test func `that is one value is walked like its two bounds`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try checkAll { try keyspace.forEach(in: KeyRange(from: $0, upTo: $1), reversed: $2, $3) }
      }
    }
  }

  @Test func `passes keys with their values, even large ones`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      for reversed in [false, true] {
        var byteCount = 0
        try keyspace.forEach(reversed: reversed) { key, value in
          let expected = try keyspace.get(Key(unverified: key.array))
          #expect(value.array == expected)
          byteCount += value.byteCount
          return true
        }
        #expect(byteCount > 12_000)
      }
    }
  }

  @Test func `of an empty keyspace is empty`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      let empty = try #require(try store.snapshot().keyspace("empty"))
      for lower in Self.bounds {
        for reversed in [false, true] {
          try empty.forEach(from: lower, reversed: reversed) { _, _ in
            Issue.record("the range should be empty")
            return true
          }
        }
      }
      let cursor = empty.cursor()
      #expect(
        try !cursor.moveToNext() && !cursor.moveToPrevious() && !cursor.moveToFirst()
          && !cursor.moveToLast())
      #expect(try !cursor.seek(5))
      #expect(!cursor.isValid)
      #expect(cursor.key == nil)
      #expect(try cursor.value == nil)
    }
  }

  @Test func `ends when its body throws`() throws {
    struct Mistake: Error {}
    try StoreFixture.inMemory().run { store in
      try fill(store)
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      var count = 0
      #expect(throws: Mistake.self) {
        try keyspace.forEach { _, _ in
          count += 1
          if count == 3 { throw Mistake() }
          return true
        }
      }
      #expect(count == 3)
    }
  }

  @Test func `shows changes that its body makes ahead`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        var found: [Int] = []
        try keyspace.forEach(upTo: Key(2900)) { key, _ in
          let number = try Key.decode(key, as: Int.self)
          found.append(number)
          if number % 20 == 0 { try keyspace.delete(number + 10) }
          if number % 100 == 0 { try keyspace.put(number + 5, [UInt8](repeating: 1, count: 700)) }
          try keyspace.delete(number)
          return true
        }
        let expected = (0..<2900).filter { $0 % 20 == 0 || $0 % 100 == 5 }
        #expect(found == expected)
        #expect(try keyspace.count() == 60)
      }
    }
  }

  /// The upper bound of such a range would be longer than the longest key.
  @Test func `of a prefix near the length limit is passed, estimated and deleted`() throws {
    func text(_ count: Int, _ end: String = "") -> String {
      String(repeating: "s", count: count) + end
    }
    let single = (955...959).map { text($0) } + (955...958).map { text($0, "t") }
    let pairs = (955...957).map { (text($0), Key(text($0), Int?.none)) }
    let keys = (single.map { Key($0) } + pairs.map(\.1)).sorted()
    let ranges =
      single.map { text in (Key(text), [Key(text)] + pairs.filter { $0.0 == text }.map(\.1)) }
      + pairs.map { ($0.1, [$0.1]) }
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for (prefix, expected) in ranges {
          for key in keys { try keyspace.put(key, [1]) }
          let range = KeyRange(prefix: prefix)
          var found: [Key] = []
          try keyspace.forEach(in: range, reversed: true) { key, _ in
            found.append(Key(unverified: key.array))
            return true
          }
          _ = try keyspace.estimatedCount(from: range.lower, upTo: range.upper)
          let deletedCount = try keyspace.delete(in: range)
          #expect(found == expected.reversed() && deletedCount == expected.count, "\(prefix)")
        }
      }
    }
  }

  // MARK: Cursors

  @Test(arguments: TestScale.seeds(quick: 1, all: 6)) func `is walked by a cursor`(seed: UInt64)
    throws
  {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      try walk(keyspace.cursor(), seed) { _, _ in }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try walk(keyspace.cursor(), seed) { _, _ in }
        // Change the keyspace during the walk, and make the same changes to the model.
        try walk(keyspace.cursor(), seed + 100) { random, keys in
          for _ in 0..<random.below(4) {
            let key = Key(random.below(3100))
            if random.isTrue(in256: 128) {
              try keyspace.put(key, random.bytes(random.below(500)))
              keys.insert(key)
            } else {
              try keyspace.delete(key)
              keys.remove(key)
            }
          }
        }
      }
    }
  }

  /// Moves a cursor at random, and compares its position with the position in a sorted list of
  /// keys.
  private func walk(
    _ cursor: Cursor, _ seed: UInt64,
    _ change: (inout SeededGenerator, inout Set<Key>) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: seed)
    var keys = Set(Self.keys)
    var sorted = Self.keys
    var expected: Key?
    for step in 0..<200 {
      let old = keys
      try change(&random, &keys)
      if keys != old { sorted = keys.sorted() }
      let isThere: Bool
      switch expected == nil ? random.below(3) : random.below(9) {
      case 0:
        let key = random.isTrue(in256: 40) ? Key("s\(random.below(60))") : Key(random.below(3100))
        isThere = try cursor.seek(key)
        expected = sorted.first { $0 >= key }
      case 1:
        isThere = try cursor.moveToFirst()
        expected = sorted.first
      case 2:
        isThere = try cursor.moveToLast()
        expected = sorted.last
      case 3...6:
        isThere = try cursor.moveToNext()
        expected = expected.flatMap { old in sorted.first { $0 > old } }
      default:
        isThere = try cursor.moveToPrevious()
        expected = expected.flatMap { old in sorted.last { $0 < old } }
      }
      #expect(isThere == (expected != nil), "seed \(seed), step \(step)")
      #expect(cursor.isValid == (expected != nil), "seed \(seed), step \(step)")
      #expect(cursor.key == expected?.bytes, "seed \(seed), step \(step)")
      #expect(try (cursor.value == nil) == (expected == nil), "seed \(seed), step \(step)")
    }
  }

  @Test func `starts at either end with a new cursor`() throws {
    try StoreFixture.inMemory().run { store in
      try fill(store)
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      let (forward, backward) = (keyspace.cursor(), keyspace.cursor())
      #expect(forward.key == nil)
      #expect(try forward.moveToNext())
      #expect(forward.key == Key(0).bytes)
      #expect(try backward.moveToPrevious())
      #expect(backward.key == Self.keys.max()?.bytes)
      #expect(try forward.seek(20))
      #expect(try forward.value == [UInt8](repeating: 4, count: 3000))
      #expect(try forward.moveToPrevious())
      #expect(try forward.value == [UInt8](repeating: 3, count: 9000))
    }
  }
}
