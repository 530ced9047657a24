import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Runs random work on a store, its backups and a replica.
///
/// The test compares the contents that readers of the replica see with the contents of the store.
@Suite("A replica during random work")
struct ReplicaModelTests {
  @Test(
    .evidence("A8"), .evidence("A9"), arguments: TestScale.seeds(quick: 12, all: 120, long: 10_000))
  func `has the generations of the backup, page for page`(seed: UInt64) throws {
    var run = try ReplicaModel(seed: seed)
    for step in 0..<80 {
      do { try run.step() } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        return
      }
    }
    try run.finish("seed \(seed)")
  }
}

/// A store, its backup directory, a replica with readers, and the states of the backup.
private struct ReplicaModel {
  /// A reader of the replica and the generations that it holds.
  private struct Reader {
    let store: Store
    var held: [(snapshot: Snapshot, state: BackedUpState)] = []
  }

  private let disk = QuotaFileSystem(directory: "/store", limit: 1 << 40)
  private let source: StoreFixture
  private let replicaOptions: StoreOptions
  private var generator: SeededGenerator
  private var store: Store
  private var replica: Replica?
  private var readers: [Reader] = []
  /// The states of the backup, by generation.
  private var states: [Generation: BackedUpState] = [:]
  /// The newest generation that the replica must have.
  private var reached: Generation?

  private static let path = "/replica"

  init(seed: UInt64) throws {
    generator = SeededGenerator(seed: seed)
    var options = generator.storeOptions()
    source = StoreFixture.on(disk, options)
    options.checkpointLogByteCount = options.segmentByteCount * generator.below(4)
    options.reclaimLogByteCount = options.segmentByteCount * generator.below(3)
    options.access = .buffered
    replicaOptions = options
    store = try source.open()
    try store.writeAtRandom(&generator)
    try backUp()
  }

  mutating func step() throws {
    switch generator.below(22) {
    case 0..<5: try store.writeAtRandom(&generator)
    case 5: try store.checkpoint()
    case 6: try store.compact()
    case 7: try thin()
    case 8: try name()
    case 9: try reopenReplica()
    case 10: try open()
    case 11: try closeReader()
    case 12, 13: try hold()
    case 14: release()
    case 20, 21: try share()
    case 15: if generator.isTrue(in256: 40) { try reboot() }
    case 16, 17: try advance()
    default: try backUp()
    }
    try expectHeld("")
  }

  // MARK: The source

  private func name() throws {
    let generation = try store.snapshot().generation
    let name = "name \(generation.frame)"
    if try store.namedGenerations()[name] == nil { try store.keep(generation, as: name) }
  }

  private mutating func backUp() throws {
    // Named generations become restore points too.
    let named = try Set(store.namedGenerations().values)
    let newest = try store.snapshot()
    var found: [Generation: BackedUpState] = [:]
    for generation in named.union([newest.generation]) where states[generation] == nil {
      found[generation] = try BackedUpState(store.snapshot(at: generation))
    }
    try store.backup(to: "/backup")
    let points = try Set(Backup(at: "/backup", on: disk).restorePoints().map(\.generation))
    states.merge(found.filter { points.contains($0.key) }) { $1 }
  }

  private mutating func thin() throws {
    var random = generator.forked()
    try Backup(at: "/backup", on: disk).thin { _ in random.isTrue(in256: 128) }
  }

  /// Restarts the machine, after which the source begins a new lineage.
  private mutating func reboot() throws {
    let hadReplica = replica != nil
    readers = []
    try replica?.close()
    replica = nil
    try store.close()
    disk.boot += 1
    store = try source.open()
    #expect(store.recovery.startedLineage)
    if hadReplica, generator.isTrue(in256: 200) { try reopenReplica() }
  }

  // MARK: The replica

  private mutating func reopenReplica() throws {
    try replica?.close()
    let isNew = try disk.list(Self.path) == nil
    let newest = try Backup(at: "/backup", on: disk).restorePoints().last?.generation
    replica = try Replica(
      at: Self.path, following: Backup(at: "/backup", on: disk), replicaOptions)
    if isNew { reached = newest }
    #expect(try replica?.generation == reached)
  }

  private mutating func advance() throws {
    guard let replica else { return }
    let points = try Backup(at: "/backup", on: disk).restorePoints().map(\.generation)
    let before = try replica.generation
    let added = try replica.advance()
    #expect(added == points.filter { $0 > before })
    reached = points.last
    #expect(try replica.generation == reached)
  }

  private var readerOptions: StoreOptions {
    var options = replicaOptions
    options.isReadOnly = true
    options.maintenance = .inline
    return options
  }

  private mutating func open() throws {
    guard reached != nil, readers.count < 3 else { return }
    // Some readers run in the process that follows the source.
    let process: any FileSystem = generator.isTrue(in256: 64) ? disk : OtherProcess(disk)
    readers.append(
      Reader(store: try Store(at: Self.path, options: readerOptions, fileSystem: process)))
  }

  private mutating func closeReader() throws {
    guard !readers.isEmpty else { return }
    let reader = readers.remove(at: generator.below(readers.count))
    try reader.store.close()
  }

  /// Takes a snapshot of the newest generation of the replica, and expects the given generation.
  private mutating func hold() throws {
    guard !readers.isEmpty else { return }
    let number = generator.below(readers.count)
    let snapshot = try readers[number].store.snapshot()
    #expect(snapshot.generation == reached)
    guard let state = states[snapshot.generation] else {
      Issue.record("Generation \(snapshot.generation.frame) is not one of the backup.")
      return
    }
    readers[number].held.append((snapshot, state))
  }

  /// Pins a generation that another reader holds.
  private mutating func share() throws {
    guard !readers.isEmpty, let (snapshot, state) = readers.flatMap(\.held).last else { return }
    let number = generator.below(readers.count)
    let second = try readers[number].store.snapshot(at: snapshot.token)
    readers[number].held.append((second, state))
  }

  private mutating func release() {
    for number in readers.indices where !readers[number].held.isEmpty {
      readers[number].held.remove(at: generator.below(readers[number].held.count))
    }
  }

  private func expectHeld(_ label: String) throws {
    for held in readers.flatMap(\.held) { try held.state.expectSamePages(held.snapshot, label) }
    #expect(readers.allSatisfy { $0.store.statistics.lastCheckpointError == nil }, "\(label)")
  }

  // MARK: The end

  mutating func finish(_ label: String) throws {
    try backUp()
    try reopenReplica()
    try advance()
    try open()
    try hold()
    try expectHeld(label)
    guard let reader = readers.first?.store else { return }
    try StoreFixture.expectSound(reader)
    let options = readerOptions
    #expect(throws: (any Error).self) { try Replica.promote(Self.path, options, disk) }
    try replica?.close()
    replica = nil
    try Replica.promote(Self.path, replicaOptions, disk)
    try expectHeld(label)
    #expect(throws: (any Error).self) { try reopenReplica() }
    var writing = replicaOptions
    writing.maintenance = .inline
    let promoted = try Store(at: Self.path, options: writing, fileSystem: disk)
    #expect(try promoted.snapshot().token != store.snapshot().token, "\(label)")
    try promoted.write { try $0.keyspace("promoted").put(1, [1]) }
    try StoreFixture.expectSound(promoted)
    #expect(try reader.snapshot().keyspace("promoted")?.count() == 1, "\(label)")
    try expectHeld(label)
    readers = []
    try promoted.close()
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
