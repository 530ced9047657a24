import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares the changes reported between any two of many generations with a comparison of their
/// complete contents.
@Suite("The changes in a history")
struct ChangesHistoryTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    let seed: UInt64
    let pageByteCount: Int
    let access: StoreOptions.Access
    var testDescription: String { "seed \(seed), pages of \(pageByteCount), \(access)" }
  }

  private static let settings: [Setting] = [
    Setting(seed: 1, pageByteCount: 4096, access: .mapped),
    Setting(seed: 2, pageByteCount: 4096, access: .mapped),
    Setting(seed: 3, pageByteCount: 16_384, access: .mapped),
    Setting(seed: 4, pageByteCount: 4096, access: .buffered),
    Setting(seed: 5, pageByteCount: 4096, access: .buffered),
    Setting(seed: 6, pageByteCount: 65_536, access: .buffered),
  ]

  private struct Version {
    let snapshot: Snapshot
    let model: KeyspaceModel
  }

  private func fixture(_ setting: Setting) throws -> StoreFixture {
    var options = StoreOptions()
    options.pageByteCount = setting.pageByteCount
    options.segmentByteCount = setting.pageByteCount * 64
    options.checkpointLogByteCount = 0
    options.durability = .normal
    options.cacheByteCount = setting.pageByteCount * 80
    return setting.access == .mapped ? try .onDisk(options) : .inMemory(options)
  }

  @Test(.evidence("I10"), arguments: TestScale.some(settings, every: 4))
  func `are the same as those of a full comparison`(setting: Setting) throws {
    var random = SeededGenerator(seed: setting.seed)
    let fixture = try fixture(setting)
    var model = KeyspaceModel()
    let stepCount = TestScale.pick(quick: 7, all: 15, long: 30)
    for opening in 0..<2 {
      try fixture.run { store in
        var versions = [Version(snapshot: try store.snapshot(), model: model)]
        for step in 0..<stepCount {
          try store.write { transaction in
            for _ in 0..<1 + random.below(30) {
              try change(transaction, &model, &random, setting.pageByteCount)
            }
          }
          if random.isTrue(in256: 100) {
            versions.append(Version(snapshot: try store.snapshot(), model: model))
          }
          if random.isTrue(in256: 50) { try store.checkpoint() }
          guard versions.count > 5 || step == stepCount - 1 else { continue }
          try expectAllPairs(store, versions, "opening \(opening), step \(step), \(setting)")
          versions.remove(at: random.below(versions.count))
        }
      }
    }
  }

  private func change(
    _ transaction: WriteTransaction, _ model: inout KeyspaceModel,
    _ random: inout SeededGenerator, _ pageByteCount: Int
  ) throws {
    let name = KeyspaceModel.names[random.below(KeyspaceModel.names.count)]
    if random.isTrue(in256: 6) {
      try transaction.removeKeyspace(name)
      model.remove(name)
      return
    }
    let keyspace = try transaction.keyspace(name)
    model.make(name)
    if try keyspace.count() == 0, random.isTrue(in256: 128) {
      let rows = (0..<random.below(800)).map { (Key($0), [UInt8](repeating: 1, count: 30)) }
      try keyspace.load(sorted: rows)
      for (key, value) in rows { model[name, key] = value }
      return
    }
    if random.isTrue(in256: 10) {
      // Delete so many rows that leaves are merged and freed.
      for row in model.rows(name) where random.isTrue(in256: 230) {
        _ = try keyspace.delete(row.key)
        model[name, row.key] = nil
      }
      return
    }
    let key = KeyspaceModel.key(name, &random)
    switch random.below(8) {
    case 0, 1:
      _ = try key.delete(from: keyspace)
      model[name, key.encoded] = nil
    case 2:
      // Write the same value again. A large value then moves to new pages.
      if let value = model[name, key.encoded] { try key.put(value, in: keyspace) }
    default:
      let value = KeyspaceModel.value(&random, pageByteCount: pageByteCount)
      try key.put(value, in: keyspace)
      model[name, key.encoded] = value
    }
  }

  private func expectAllPairs(_ store: Store, _ versions: [Version], _ context: String) throws {
    for source in versions {
      for target in versions {
        var found: [StoreChange] = []
        try store.changes(from: source.snapshot, to: target.snapshot) { found.append($0) }
        let isRight = found == differences(source.model, target.model)
        #expect(
          isRight, "\(source.snapshot.generation) to \(target.snapshot.generation), \(context)")
      }
    }
    #expect(store.files.cache.pinnedCount == 0)
  }

  private func differences(_ source: KeyspaceModel, _ target: KeyspaceModel) -> [StoreChange] {
    var changes: [StoreChange] = []
    for name in Set(source.keyspaces.keys).union(target.keyspaces.keys).sorted() {
      let (old, new) = (source.keyspaces[name] ?? [:], target.keyspaces[name] ?? [:])
      for key in Set(old.keys).union(new.keys).sorted() where old[key] != new[key] {
        let kind: StoreChange.Kind =
          old[key] == nil ? .inserted : new[key] == nil ? .deleted : .updated
        changes.append(StoreChange(keyspace: name, key: key.bytes, kind: kind))
      }
    }
    return changes
  }
}
