import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares bulk loads of sorted entries into an empty keyspace with single puts.
@Suite("A bulk load")
struct KeyspaceLoadTests {
  private static let (one, two): ([UInt8], [UInt8]) = ([1], [2])

  private func rows(_ seed: UInt64, count: Int, pageByteCount: Int) -> [(Key, [UInt8])] {
    var random = SeededGenerator(seed: seed)
    var rows: [Key: [UInt8]] = [:]
    while rows.count < count {
      let key = KeyspaceModel.key(
        KeyspaceModel.names[random.below(KeyspaceModel.names.count)], &random
      ).encoded
      // Each kind of key has only a few hundred different values, so append a component.
      let longer = Key(unverified: key.bytes + Key(random.below(1000)).bytes)
      rows[longer] = KeyspaceModel.value(&random, pageByteCount: pageByteCount)
    }
    return rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func content(_ store: Store, _ name: String) throws -> [KeyspaceModel.Row] {
    var found: [KeyspaceModel.Row] = []
    try store.snapshot().keyspace(name)?.forEach { key, value in
      found.append((Key(unverified: key.array), value.array))
      return true
    }
    return found
  }

  @Test(arguments: [0, 1, 2, 50, TestScale.pick(quick: 200, all: 1500)], [4096, 65_536])
  func `equals the same number of puts`(count: Int, pageByteCount: Int) throws {
    let rows = rows(UInt64(count), count: count, pageByteCount: pageByteCount)
    var options = StoreOptions()
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * 64
    try StoreFixture.inMemory(options).run { store in
      try store.write { try $0.keyspace("loaded").load(sorted: rows) }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("put")
        for (key, value) in rows.shuffled() { try keyspace.put(key, value) }
      }
      let (loaded, put) = (try content(store, "loaded"), try content(store, "put"))
      #expect(loaded.count == count)
      #expect(loaded.elementsEqual(put) { $0.key == $1.key && $0.value == $1.value })
      #expect(try store.snapshot().keyspace("loaded")?.count() == count)
      // A loaded keyspace can be changed like any other keyspace.
      try store.write { transaction in
        let keyspace = try transaction.keyspace("loaded")
        for (key, _) in rows where key.bytes.count % 2 == 0 { try keyspace.delete(key) }
        for number in 0..<100 { try keyspace.put(number, [1]) }
      }
    }
  }

  /// The ways in which the entries of a bulk load can be invalid.
  enum Wrong: String, CaseIterable, Sendable {
    case keyTwice, descending, keyTooLong
  }

  @Test(.evidence("D5"), arguments: Wrong.allCases)
  func `with an error leaves the store unchanged`(wrong: Wrong) throws {
    try StoreFixture.inMemory().run { store in
      try store.write { try $0.keyspace("other").put(1, [1]) }
      let (generation, pageCount) = (store.statistics.newestGeneration, store.statistics.pageCount)
      var rows = (0..<2000).map { (Key($0), [UInt8](repeating: 1, count: 50)) }
      switch wrong {
      case .keyTwice: rows[1500].0 = rows[1499].0
      case .descending: rows.swapAt(1800, 1700)
      case .keyTooLong: rows.append((Key(String(repeating: "x", count: 1000)), []))
      }
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").load(sorted: rows) }
      }
      #expect(error?.kind == (wrong == .keyTooLong ? .tooLarge : .invalidArgument))
      // Even if the body catches the error, the transaction can only be rolled back.
      #expect(throws: StorageError.self) {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          do { try keyspace.load(sorted: rows) } catch is StorageError {}
          try transaction.keyspace("other").put(1, [2])
        }
      }
      #expect(store.statistics.newestGeneration == generation)
      #expect(store.statistics.pageCount == pageCount)
      #expect(try store.snapshot().keyspaceNames == ["other"])
      #expect(try store.snapshot().keyspace("other")?.get(1) == [1])
    }
  }

  /// The ways to load no entries into an empty keyspace.
  private static let emptyLoads: [@Sendable (KeyspaceWriter) throws -> Void] = [
    { try $0.load(sorted: [(Key, [UInt8])]()) }, { try $0.load { _ in } },
    { try $0.append { _ in } },
  ]

  @Test func `keeps earlier changes if it loads no entries`() throws {
    try StoreFixture.inMemory().run { store in
      for load in Self.emptyLoads {
        try store.write { try $0.keyspace("k").put(1, [1]) }
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          try keyspace.delete(1)
          try load(keyspace)
        }
        #expect(try store.snapshot().keyspace("k")?.count() == 0)
      }
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<3 { try keyspace.put(number, [1]) }
        try keyspace.append { _ in }
      }
      #expect(try store.snapshot().keyspace("k")?.count() == 3)
    }
  }

  /// An empty bulk load may balance the last leaves, so that entries move from one to the other.
  @Test func `does not move cursors if it loads no entries`() throws {
    func value(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 100) }
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        var wrong: [Int] = []
        for count in 1...120 {
          try keyspace.put(count, value(count))
          let numbers = max(1, count - 45)...count
          let cursors = try numbers.map { number in
            let cursor = keyspace.cursor()
            try cursor.seek(Key(number))
            return cursor
          }
          try keyspace.append { _ in }
          wrong += try zip(numbers, cursors).filter { try $1.value != value($0) }.map(\.0)
        }
        #expect(wrong == [])
      }
    }
  }

  @Test func `into a keyspace with entries throws and changes nothing`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        try keyspace.put(5, [5])
        let error = #expect(throws: StorageError.self) {
          try keyspace.load(sorted: [(Key(1), [1])])
        }
        #expect(error?.kind == .invalidArgument)
        try keyspace.put(6, [6])
        try keyspace.delete(5)
        try keyspace.delete(6)
        try keyspace.load(sorted: [(Key(1), [1]), (Key(2), [2])])
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.count() == 2)
      #expect(try keyspace.get(1) == [1])
      #expect(try keyspace.get(5) == nil)
    }
  }

  @Test func `accepts entries one by one, with keys of every kind`() throws {
    try StoreFixture.inMemory().run { store in
      let value: [UInt8] = [1, 2, 3]
      try store.write { transaction in
        try transaction.keyspace("numbers").load { loader in
          for number in 0..<3000 { try loader.append(number, value.span.bytes) }
          try loader.append(Int64.max, value.span.bytes)
        }
        try transaction.keyspace("others").load { loader in
          try loader.append("a", value.span.bytes)
          try loader.append(Key("b", 1), value.span.bytes)
          try loader.append(value.span.bytes, value.span.bytes)
        }
        try transaction.keyspace("none").load { _ in }
      }
      let snapshot = try store.snapshot()
      let numbers = try #require(try snapshot.keyspace("numbers"))
      #expect(try numbers.count() == 3001)
      #expect(try numbers.get(2999) == value && numbers.get(Int64.max) == value)
      let others = try #require(try snapshot.keyspace("others"))
      #expect(try others.get("a") == value && others.get(Key("b", 1)) == value)
      #expect(try others.get(value) == value && others.count() == 3)
      #expect(try snapshot.keyspace("none")?.count() == 0)
    }
  }

  @Test func `can alternate with a load of another keyspace`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let others = try transaction.keyspace("others")
        try transaction.keyspace("numbers").load { loader in
          try others.load { other in
            for number in 0..<5000 {
              try loader.append(number, Self.one.span.bytes)
              try other.append(number * 2, Self.two.span.bytes)
            }
          }
        }
      }
      #expect(try store.snapshot().keyspace("numbers")?.count() == 5000)
      #expect(try store.snapshot().keyspace("others")?.get(9998) == [2])
    }
  }

  @Test(.evidence("D5")) func `whose closure throws leaves the store unchanged`() throws {
    struct Own: Error {}
    try StoreFixture.inMemory().run { store in
      let newest = store.statistics.newestGeneration
      let error = #expect(throws: StorageError.self) {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          // Even if the body catches the error, the transaction cannot be committed.
          do {
            try keyspace.load { loader in
              for number in 0..<500 { try loader.append(number, Self.one.span.bytes) }
              throw Own()
            }
          } catch is Own {}
        }
      }
      #expect(error?.kind == .invalidArgument)
      #expect(store.statistics.newestGeneration == newest)
      // If the failed load is rolled back by a savepoint, the rest of the transaction can be
      // committed.
      try store.write { transaction in
        try? transaction.savepoint { transaction in
          try transaction.keyspace("k").load { loader in
            try loader.append(1, Self.one.span.bytes)
            throw Own()
          }
        }
        try transaction.keyspace("k").put(2, [2])
      }
      #expect(try store.snapshot().keyspace("k")?.count() == 1)
    }
  }
}
