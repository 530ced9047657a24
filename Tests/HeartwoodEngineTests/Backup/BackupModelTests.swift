import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Runs random work on a store and its backups, and compares restored states with the originals.
@Suite("Backups during random work")
struct BackupModelTests {
  @Test(
    .evidence("A1"), .evidence("A2"), .evidence("A5"), .evidence("A7"),
    arguments: TestScale.seeds(quick: 10, all: 120, long: 10_000))
  func `restore every generation as it was`(seed: UInt64) throws {
    var run = try BackupModel(seed: seed)
    for step in 0..<60 {
      do { try run.step() } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        return
      }
    }
    try run.expectAllRestorable("seed \(seed)")
  }
}

/// A store, its backup directory, and the states to restore.
private struct BackupModel {
  private let disk = MemoryFileSystem()
  private let fixture: StoreFixture
  private var generator: SeededGenerator
  private var store: Store
  /// The states that the backups contain, by generation.
  private var states: [Generation: BackedUpState] = [:]
  private var names: [String: Generation] = [:]
  /// The names that the backups have recorded.
  private var recordedNames: [String: Generation] = [:]
  private var restoreCount = 0

  private static let path = "/backup"

  init(seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    let options = generator.storeOptions()
    fixture = StoreFixture.on(disk, options)
    store = try fixture.open()
  }

  mutating func step() throws {
    switch generator.below(16) {
    case 0..<6: try store.writeAtRandom(&generator)
    case 6: try store.checkpoint()
    case 7: try store.compact()
    case 8: try reopen()
    case 9: try name()
    case 10: try unname()
    case 11: try thin()
    case 12: try expectRestorable()
    case 13: try loseName()
    default: try backUp()
    }
  }

  // MARK: Steps

  private mutating func reopen() throws {
    try StoreFixture.expectSound(store)
    try store.close()
    store = try fixture.open()
  }

  private mutating func name() throws {
    let name = "name \(generator.below(5))"
    guard names[name] == nil else { return }
    let generation = try store.snapshot().generation
    try store.keep(generation, as: name)
    names[name] = generation
    // The next backup contains the state, unless an earlier backup already does or the name is
    // released first.
    if states[generation] == nil { pending[generation] = try BackedUpState(store.snapshot()) }
  }

  /// The states that the next backup contains if their names still exist.
  private var pending: [Generation: BackedUpState] = [:]

  private mutating func unname() throws {
    guard let name = names.keys.sorted().randomElement(using: &generator) else { return }
    try store.release(name)
    names[name] = nil
  }

  /// Releases the name of the base of the next delta.
  private mutating func loseName() throws {
    guard generator.isTrue(in256: 60) else { return }
    for name in try store.namedGenerations().keys where name.hasPrefix("backup-") {
      try store.release(name)
    }
  }

  private mutating func backUp() throws {
    let newest = try store.snapshot()
    let report = try store.backup(to: Self.path)
    #expect(report.generation == newest.generation)
    if !report.files.isEmpty { recordedNames.merge(names) { $1 } }
    if states[newest.generation] == nil { states[newest.generation] = try BackedUpState(newest) }
    let points = try Set(backup.restorePoints().map(\.generation))
    let kept = Set(names.values)
    for (generation, state) in pending where kept.contains(generation) {
      #expect(points.contains(generation))
      states[generation] = state
    }
    pending = pending.filter { $0.key > newest.generation }
    #expect(points == Set(states.keys))
    // The store keeps one generation as the base of the next delta.
    let own = try store.namedGenerations().filter { $0.key.hasPrefix("backup-") }
    #expect(own.values.map(\.frame) == [newest.generation.frame])
  }

  private mutating func thin() throws {
    guard let newest = states.keys.max() else { return }
    var random = generator.forked()
    let kept = states.keys.sorted().filter { $0 == newest || random.isTrue(in256: 150) }
    try backup.thin { kept.contains($0.generation) }
    states = states.filter { kept.contains($0.key) }
    let points = try backup.restorePoints()
    #expect(points.map(\.generation) == kept)
    for (name, generation) in recordedNames where kept.contains(generation) {
      #expect(points.contains { $0.generation == generation && $0.names.contains(name) })
    }
    let fileCount = try disk.list(Self.path)?.count { $0 != "lock" }
    #expect(fileCount == kept.count)
  }

  // MARK: Expectations

  private var backup: Backup { Backup(at: Self.path, on: disk) }

  private mutating func expectRestorable() throws {
    guard let generation = states.keys.sorted().randomElement(using: &generator) else { return }
    try expectRestorable(generation, "")
  }

  mutating func expectAllRestorable(_ label: String) throws {
    for generation in states.keys.sorted() { try expectRestorable(generation, label) }
    try StoreFixture.expectSound(store)
    try store.close()
  }

  private mutating func expectRestorable(_ generation: Generation, _ label: String) throws {
    restoreCount += 1
    let target = "/restored\(restoreCount)"
    try backup.restore(generation, to: target)
    try states[generation]?.expectEqual(at: target, on: disk, label)
  }
}
