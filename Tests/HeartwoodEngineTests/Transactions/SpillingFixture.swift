import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Creates stores, on disk and in memory, whose transactions may keep only a few pages in memory.
enum SpillingFixture {
  static func make(
    _ access: StoreOptions.Access, pageByteCount: Int = 4096, memoryPageCount: Int
  ) throws -> StoreFixture {
    var options = StoreOptions()
    options.access = access
    options.pageByteCount = pageByteCount
    options.segmentByteCount = pageByteCount * 256
    options.transactionMemoryByteCount = memoryPageCount * pageByteCount
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    options.cacheByteCount = pageByteCount * 512
    return try StoreFixture.onDisk(options)
  }
}

extension StoreFixture {
  /// Opens the store, runs `body` and verifies the complete store, but does not close it.
  ///
  /// The next opening finds the commits only in the log, as after the death of a process.
  func runUntilDeath(_ body: (Store) throws -> Void) throws {
    let store = try open()
    try body(store)
    try Self.expectSound(store)
  }

  /// Expects the contents of `model` when the store is opened, and again after it has been closed.
  func expectReopened(_ model: KeyspaceModel) throws {
    try run { try model.expectShown(by: $0.snapshot(), "after a death") }
    try run { try model.expectShown(by: $0.snapshot(), "after a close") }
  }
}

/// Makes the same random changes to a transaction and to a model.
struct ModelledTransaction {
  var model = KeyspaceModel()
  var random: SeededGenerator
  let pageByteCount: Int

  struct RolledBack: Error {}

  init(seed: UInt64, pageByteCount: Int = 4096) {
    random = SeededGenerator(seed: seed)
    self.pageByteCount = pageByteCount
  }

  /// Makes a random change or performs a random read.
  mutating func step(_ transaction: inout WriteTransaction) throws {
    let name = KeyspaceModel.names[random.below(KeyspaceModel.names.count)]
    if random.isTrue(in256: 2) {
      try transaction.removeKeyspace(name)
      model.remove(name)
      return
    }
    let keyspace = try transaction.keyspace(name)
    model.make(name)
    let key = KeyspaceModel.key(name, &random)
    switch random.below(8) {
    case 0, 1:
      let wasThere = try key.delete(from: keyspace)
      #expect(wasThere == (model[name, key.encoded] != nil))
      model[name, key.encoded] = nil
    case 2, 3:
      let isRight = try key.get(from: keyspace) == model[name, key.encoded]
      #expect(isRight)
    default:
      let value = KeyspaceModel.value(&random, pageByteCount: pageByteCount)
      try key.put(value, in: keyspace)
      model[name, key.encoded] = value
    }
  }

  /// Makes random changes, some of them in nested savepoints, and rolls back some of the
  /// savepoints.
  mutating func nestedSteps(
    _ transaction: inout WriteTransaction, count: Int, depth: Int
  ) throws {
    for _ in 0..<count {
      guard depth > 0, random.isTrue(in256: 12) else {
        try step(&transaction)
        continue
      }
      let before = model
      do {
        try transaction.savepoint { inner in
          try nestedSteps(&inner, count: random.below(count), depth: depth - 1)
          if random.isTrue(in256: 120) { throw RolledBack() }
        }
      } catch is RolledBack {
        model = before
        try expectShown(by: transaction)
      }
    }
  }

  /// Expects that the transaction has exactly the contents of the model.
  func expectShown(
    by transaction: WriteTransaction, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let names = try transaction.keyspaceNames
    #expect(names == model.keyspaces.keys.sorted(), sourceLocation: location)
    for name in names {
      let keyspace = try transaction.keyspace(name)
      var found: [KeyspaceModel.Row] = []
      try keyspace.forEach { key, value in
        found.append((Key(unverified: key.array), value.array))
        return true
      }
      let rows = model.rows(name)
      let isRight = found.elementsEqual(rows) { $0.key == $1.key && $0.value == $1.value }
      #expect(isRight, "\(name)", sourceLocation: location)
      #expect(try keyspace.count() == found.count, "\(name)", sourceLocation: location)
    }
  }
}
