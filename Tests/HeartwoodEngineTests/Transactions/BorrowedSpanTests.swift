import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests writes whose arguments are spans borrowed from the same transaction.
@Suite("A span borrowed from a transaction")
struct BorrowedSpanTests {
  /// The borrowed value is moved within its leaf while it is being stored in this leaf again.
  @Test(.evidence("I4"))
  func `is stored with the bytes that it contained when it was passed`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        func value(_ key: Int) -> [UInt8] { [UInt8](repeating: UInt8(key), count: 100) }
        for key in 0..<30 { try keyspace.put(key, value(key)) }
        try keyspace.delete(0)
        for key in 30..<35 { try keyspace.put(key, value(key)) }
        _ = try keyspace.withValue(10) { try keyspace.put(100, $0) }
        #expect(try keyspace.get(100) == value(10))
        for key in 1..<35 { #expect(try keyspace.get(key) == value(key)) }
      }
    }
  }

  /// The borrowed value is moved within the last leaf, or is divided from it, while it is being
  /// appended to this leaf.
  @Test(.evidence("I4"))
  func `is appended with the bytes that it contained when it was passed`() throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        func value(_ key: Int) -> [UInt8] { [UInt8](repeating: UInt8(key), count: 100) }
        for count in 25..<45 {
          let keyspace = try transaction.keyspace("\(count)")
          for key in 0..<count - 5 { try keyspace.put(key, value(key)) }
          try keyspace.delete(0)
          for key in count - 5..<count { try keyspace.put(key, value(key)) }
          _ = try keyspace.withValue(10) { span in
            try keyspace.append { try $0.append(100, span) }
          }
          let found = try (1..<count).map { try keyspace.get($0) } + [keyspace.get(100)]
          let isRight = found == (1..<count).map { value($0) } + [value(10)]
          #expect(isRight, "\(count)")
        }
      }
    }
  }

  @Test(.evidence("I4"), arguments: TestScale.seeds(quick: 2, all: 12))
  func `can be passed to any write of the same or another keyspace`(seed: UInt64) throws {
    var options = StoreOptions()
    options.access = seed % 2 == 0 ? .mapped : .buffered
    options.transactionMemoryByteCount = seed % 3 == 0 ? 64 << 10 : 64 << 20
    try StoreFixture.inMemory(options).run { store in
      var run = BorrowingRun(seed: seed)
      for _ in 0..<4 { try store.write { try run.takeSteps(80, in: &$0) } }
      try run.compare(store.snapshot())
    }
  }
}

/// Performs writes with borrowed spans as arguments, and keeps a model of the expected contents.
private struct BorrowingRun {
  private var random: SeededGenerator
  private var model: [[Int: [UInt8]]] = [[:], [:]]
  private var loadCount = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private func name(_ keyspace: Int) -> String { "keyspace \(keyspace)" }

  mutating func takeSteps(_ count: Int, in transaction: inout WriteTransaction) throws {
    for _ in 0..<count {
      let (from, to) = (random.below(2), random.below(2))
      let source = try transaction.keyspace(name(from))
      let target = try transaction.keyspace(name(to))
      let key = random.below(400)
      guard let known = pick(from), random.below(4) > 0 else {
        let value = newValue()
        try target.put(key, value)
        model[to][key] = value
        continue
      }
      switch random.below(9) {
      case 0: _ = try source.withValue(known) { try target.put(key, $0) }
      case 1:
        try source.getMany([known]) { _, value in if let value { try target.put(key, value) } }
      case 2:
        try source.forEach(from: Key(known)) { _, value in
          try target.put(key, value)
          return false
        }
      case 3: try stream(known, source, key, target, from)
      case 4:
        try copyRange(known, source, key, target, from, to)
        continue
      case 5:
        try source.delete(known)
        model[from][known] = nil
        continue
      case 6:
        try load(&transaction, source, from)
        continue
      case 7:
        try append(known, source, from)
        continue
      default: try store(known, source, key, target, &transaction)
      }
      model[to][key] = model[from][known]
    }
  }

  private mutating func pick(_ keyspace: Int) -> Int? {
    let keys = model[keyspace].keys.sorted()
    return keys.isEmpty ? nil : keys[random.below(keys.count)]
  }

  private mutating func newValue() -> [UInt8] {
    let sizes = [0, 1, 20, 100, 400, 900, 1500, 4000, 9000]
    let size = sizes[random.below(sizes.count)]
    return [UInt8](repeating: UInt8(random.below(256)), count: size)
  }

  /// Stores a value under another key, in chunks that are as large as a page of a value.
  private func stream(
    _ known: Int, _ source: KeyspaceWriter, _ key: Int, _ target: KeyspaceWriter, _ from: Int
  ) throws {
    let count = model[from][known]?.count ?? 0
    try target.put(key, byteCount: count) { writer in
      try source.forEachChunk(known) { try writer.append($0) }
    }
  }

  private mutating func copyRange(
    _ known: Int, _ source: KeyspaceWriter, _ key: Int, _ target: KeyspaceWriter, _ from: Int,
    _ to: Int
  ) throws {
    let value = model[from][known] ?? []
    let range = 0..<min(value.count, 1 + random.below(50))
    var isFirst = true
    try source.read(known, range: range) { chunk in
      if isFirst { try target.put(key, chunk) }
      isFirst = false
    }
    if !range.isEmpty { model[to][key] = [UInt8](value[range]) }
  }

  /// Stores a value in a savepoint that is rolled back, and then again in a savepoint that is kept.
  private func store(
    _ known: Int, _ source: KeyspaceWriter, _ key: Int, _ target: KeyspaceWriter,
    _ transaction: inout WriteTransaction
  ) throws {
    try? transaction.savepoint { _ in
      _ = try source.withValue(known) { try target.put(key, $0) }
      throw StorageError(.invalidArgument, "This savepoint is rolled back.")
    }
    try transaction.savepoint { _ in
      _ = try source.withValue(known) { try target.put(key, $0) }
    }
  }

  /// Stores a value again in the same keyspace, after the last key.
  private mutating func append(_ known: Int, _ source: KeyspaceWriter, _ from: Int) throws {
    let key = (model[from].keys.max() ?? 0) + 1
    _ = try source.withValue(known) { value in
      try source.append { try $0.append(key, value) }
    }
    model[from][key] = model[from][known]
  }

  /// Copies all entries of a keyspace to a new keyspace.
  private mutating func load(
    _ transaction: inout WriteTransaction, _ source: KeyspaceWriter, _ from: Int
  ) throws {
    loadCount += 1
    let copy = try transaction.keyspace("copy \(loadCount)")
    try copy.load { loader in
      for (key, _) in model[from].sorted(by: { $0.key < $1.key }) {
        _ = try source.withValue(key) { try loader.append(key, $0) }
      }
    }
    for (key, value) in model[from] { #expect(try copy.get(key) == value) }
  }

  func compare(_ snapshot: Snapshot) throws {
    for keyspace in 0..<2 {
      let reader = try #require(try snapshot.keyspace(name(keyspace)))
      #expect(try reader.count() == model[keyspace].count)
      for (key, value) in model[keyspace] {
        let stored = try reader.get(key)
        #expect(stored == value, "keyspace \(keyspace), key \(key)")
      }
    }
  }
}
