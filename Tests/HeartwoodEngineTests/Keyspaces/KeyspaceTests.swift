import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares keyspaces, used through the public interface, with plain dictionaries.
@Suite("A keyspace")
struct KeyspaceTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    let seed: UInt64
    let pageByteCount: Int
    let access: StoreOptions.Access
    var testDescription: String { "seed \(seed), pages of \(pageByteCount), \(access)" }
  }

  private static let settings: [Setting] = [
    Setting(seed: 1, pageByteCount: 4096, access: .mapped),
    Setting(seed: 2, pageByteCount: 4096, access: .buffered),
    Setting(seed: 3, pageByteCount: 65_536, access: .mapped),
    Setting(seed: 4, pageByteCount: 65_536, access: .buffered),
    Setting(seed: 5, pageByteCount: 16_384, access: .mapped),
  ]

  private struct Mistake: Error {}

  private func options(_ setting: Setting) -> StoreOptions {
    var options = StoreOptions()
    options.pageByteCount = setting.pageByteCount
    options.access = setting.access
    options.segmentByteCount = setting.pageByteCount * 64
    options.checkpointLogByteCount = setting.pageByteCount * 400
    options.durability = .normal
    options.cacheByteCount = setting.pageByteCount * 80
    return options
  }

  @Test(
    .evidence("I1"), .evidence("I4"), .evidence("D5"),
    arguments: TestScale.some(settings, every: 3))
  func `has the same contents as a dictionary, in every snapshot`(setting: Setting) throws {
    var random = SeededGenerator(seed: setting.seed)
    let fixture = try StoreFixture.onDisk(options(setting))
    var model = KeyspaceModel()
    for round in 0..<3 {
      try fixture.run { store in
        try model.expectShown(by: try store.snapshot(), "seed \(setting.seed), opening \(round)")
        var held: [(snapshot: Snapshot, model: KeyspaceModel)] = []
        for step in 0..<TestScale.pick(quick: 8, all: 15, long: 25) {
          let context = "seed \(setting.seed), opening \(round), step \(step)"
          try write(store, &model, &random, setting.pageByteCount, context)
          if random.isTrue(in256: 80) { held.append((try store.snapshot(), model)) }
          if random.isTrue(in256: 40) { try store.checkpoint() }
          if held.count > 4 { held.remove(at: random.below(held.count)) }
        }
        for (snapshot, model) in held {
          try model.expectShown(by: snapshot, "held in seed \(setting.seed)")
        }
        try model.expectShown(by: try store.snapshot(), "newest in seed \(setting.seed)")
      }
    }
  }

  /// Runs a transaction of random changes.
  ///
  /// If the transaction throws, the model remains unchanged.
  private func write(
    _ store: Store, _ model: inout KeyspaceModel, _ random: inout SeededGenerator,
    _ pageByteCount: Int, _ context: String
  ) throws {
    var changed = model
    let throwsAtEnd = random.isTrue(in256: 30)
    do {
      try store.write { transaction in
        for _ in 0..<1 + random.below(40) {
          try change(transaction, &changed, &random, pageByteCount, context)
        }
        #expect(try transaction.keyspaceNames == changed.keyspaces.keys.sorted())
        if throwsAtEnd { throw Mistake() }
      }
      model = changed
    } catch is Mistake {
      try model.expectShown(by: try store.snapshot(), "after a throw, \(context)")
    }
  }

  private func change(
    _ transaction: WriteTransaction, _ model: inout KeyspaceModel,
    _ random: inout SeededGenerator, _ pageByteCount: Int, _ context: String
  ) throws {
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
      let wasThere = model[name, key.encoded] != nil
      #expect(try key.delete(from: keyspace) == wasThere, "\(context)")
      model[name, key.encoded] = nil
    case 2:
      #expect(try key.get(from: keyspace) == model[name, key.encoded], "\(context)")
    default:
      let value = KeyspaceModel.value(&random, pageByteCount: pageByteCount)
      try key.put(value, in: keyspace)
      model[name, key.encoded] = value
    }
    #expect(try keyspace.count() == model.keyspaces[name]?.count, "\(context)")
  }

  @Test(arguments: TestScale.some(Array(settings.dropLast()), every: 5))
  func `stores values of every length`(
    setting: Setting
  ) throws {
    let quarter = (setting.pageByteCount - 40) / 4
    let page = setting.pageByteCount - 32
    let fanout = page / 4
    var lengths = Set([0, 1, 200 << 10, 200 << 10 | 1, 1 << 20])
    for edge in [quarter - 30, quarter - 14, quarter, page, 2 * page, 3 * page, fanout * page]
    where edge < 5 << 20 {
      for difference in -2...2 { lengths.insert(edge + difference) }
    }
    let sorted = lengths.sorted()
    let fixture = try StoreFixture.onDisk(options(setting))
    var random = SeededGenerator(seed: setting.seed)
    let bytes = random.bytes(sorted[sorted.count - 1])
    try fixture.run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for length in sorted { try keyspace.put(length, Array(bytes.prefix(length))) }
        for length in sorted where length % 3 == 0 {
          #expect(try keyspace.get(length)?.count == length)
        }
      }
    }
    try fixture.run { store in
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      for length in sorted {
        let isRight = try keyspace.get(length) == Array(bytes.prefix(length))
        #expect(isRight, "\(length)")
        let count = try keyspace.withValue(length) { $0.byteCount }
        #expect(count == length)
      }
    }
  }

  @Test func `reads any range of a value`() throws {
    try StoreFixture.inMemory().run { store in
      var random = SeededGenerator(seed: 6)
      let values = [random.bytes(100), random.bytes(3000), random.bytes(200 << 10)]
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for (number, value) in values.enumerated() { try keyspace.put(number, value) }
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      for (number, value) in values.enumerated() {
        for _ in 0..<100 {
          let (one, two) = (random.below(value.count + 1), random.below(value.count + 1))
          let range = min(one, two)..<max(one, two)
          var found: [UInt8] = []
          let isThere = try keyspace.read(number, range: range) { found += $0.array }
          #expect(isThere)
          #expect(found == Array(value[range]), "\(range) of \(value.count)")
        }
        for range in [-1..<1, 0..<value.count + 1, value.count + 1..<value.count + 1] {
          let error = #expect(throws: StorageError.self) {
            try keyspace.read(number, range: range) { _ in }
          }
          #expect(error?.kind == .invalidArgument, "\(range)")
        }
        #expect(throws: Mistake.self) {
          try keyspace.read(number, range: 0..<1) { _ in throw Mistake() }
        }
      }
      #expect(try !keyspace.read(4711, range: 0..<1) { _ in Issue.record("no such key") })
    }
  }

  // MARK: Creating and removing

  @Test func `can be removed and created again`() throws {
    let fixture = StoreFixture.inMemory()
    try fixture.run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for number in 0..<500 { try keyspace.put(number, [1]) }
        try transaction.keyspace("other").put(1, [2])
      }
      let before = try store.snapshot()
      try store.write { transaction in
        try transaction.removeKeyspace("k")
        try transaction.removeKeyspace("never was")
        #expect(try transaction.keyspaceNames == ["other"])
      }
      #expect(try store.snapshot().keyspace("k") == nil)
      #expect(try store.snapshot().keyspaceNames == ["other"])
      try store.write { transaction in
        #expect(try transaction.keyspace("k").count() == 0)
        #expect(try transaction.keyspace("k").get(1) == nil)
        try transaction.keyspace("k").put(7, [3])
        try transaction.removeKeyspace("k")
        try transaction.keyspace("k").put(8, [4])
      }
      let keyspace = try #require(try store.snapshot().keyspace("k"))
      #expect(try keyspace.count() == 1)
      #expect(try keyspace.get(7) == nil)
      #expect(try keyspace.get(8) == [4])
      #expect(try before.keyspace("k")?.count() == 500)
      #expect(try before.keyspace("k")?.get(499) == [1])
    }
  }

  @Test(.evidence("U3"), arguments: ["", String(repeating: "x", count: 256)])
  func `needs a name of a fitting length`(name: String) throws {
    try StoreFixture.inMemory().run { store in
      try store.write { transaction in
        let error = #expect(throws: StorageError.self) { try transaction.keyspace(name) }
        #expect(error?.kind == .tooLarge)
        try transaction.keyspace(String(repeating: "ä", count: 127) + "x").put(1, [1])
      }
      #expect(try store.snapshot().keyspaceNames.map(\.utf8.count) == [255])
    }
  }

  @Test(.evidence("D5"), .evidence("I4")) func `shows nothing of a body that throws`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let generation = store.statistics.newestGeneration
      let files = try fixture.allBytes()
      #expect(throws: Mistake.self) {
        try store.write { transaction in
          try transaction.keyspace("k").put(1, [2])
          try transaction.keyspace("k").put(2, [UInt8](repeating: 3, count: 100_000))
          try transaction.keyspace("new").put(1, [1])
          #expect(try transaction.keyspace("k").get(1) == [2])
          #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
          #expect(try store.snapshot().keyspace("new") == nil)
          throw Mistake()
        }
      }
      #expect(store.statistics.newestGeneration == generation)
      #expect(try store.snapshot().keyspaceNames == ["k"])
      #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
      let isUnchanged = try fixture.allBytes() == files
      #expect(isUnchanged)
      // A transaction that only reads does not create a generation.
      #expect(try store.write { _ = try $0.keyspace("k").get(1) } == generation)
    }
  }
}
