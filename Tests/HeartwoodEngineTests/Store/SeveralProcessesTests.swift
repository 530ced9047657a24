import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Compares a store used by several processes, step by step, with a dictionary for each generation.
///
/// Several openings in one process simulate the processes, so every run is reproducible. The
/// openings share only the files. Random numbers decide which process opens the store, runs
/// maintenance or dies next.
@Suite("A store of several processes")
struct SeveralProcessesTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    let seed: UInt64
    let pageByteCount: Int
    let access: StoreOptions.Access
    var testDescription: String { "seed \(seed), pages of \(pageByteCount), \(access)" }
  }

  private static let settings: [Setting] = (1...12).map { (seed: Int) -> Setting in
    Setting(
      seed: UInt64(seed), pageByteCount: seed % 3 == 0 ? 16_384 : 4096,
      access: seed % 2 == 0 ? .mapped : .buffered)
  }

  private typealias Content = [Int: [UInt8]]

  private struct Process {
    let fixture: StoreFixture
    var store: Store?
    var held: [Snapshot] = []
  }

  private struct World {
    var processes: [Process]
    var content: Content = [:]
    var history: [Generation: Content] = [:]
    var kept: [String: Generation] = [:]
    var random: SeededGenerator
    var newest = Generation(frame: 0)
  }

  private func fixture(_ setting: Setting) throws -> StoreFixture {
    var options = StoreOptions()
    options.pageByteCount = setting.pageByteCount
    options.segmentByteCount = setting.pageByteCount * 16
    options.checkpointLogByteCount = setting.pageByteCount * 60
    options.reclaimLogByteCount = setting.pageByteCount * 30
    options.cacheByteCount = setting.pageByteCount * 20
    options.access = setting.access
    options.maintenance = .inline
    guard setting.access == .mapped else {
      return .on(MemoryFileSystem(), options)
    }
    return try .onDisk(options)
  }

  @Test(
    .evidence("I1"), .evidence("I5"), .evidence("I8"),
    arguments: TestScale.some(settings, every: 5))
  func `shows the commits of all processes in each of them`(setting: Setting) throws {
    let original = try fixture(setting)
    var world = World(
      processes: (0..<3).map { _ in Process(fixture: original.elsewhere()) },
      random: SeededGenerator(seed: setting.seed))
    for step in 0..<TestScale.pick(quick: 60, all: 400) {
      let number = world.random.below(world.processes.count)
      do { try perform(&world, number) } catch {
        Issue.record("\(setting), step \(step), process \(number): \(error)")
        return
      }
    }
    for process in world.processes {
      guard let store = process.store else { continue }
      try StoreFixture.expectSound(store)
      try store.close()
    }
    let last = world.content
    try original.run { store throws in
      let isRight = try content(of: store.snapshot()) == last
      #expect(isRight)
    }
  }

  private func content(of snapshot: Snapshot) throws -> Content {
    var content: Content = [:]
    try snapshot.keyspace("k")?.forEach { key, value in
      content[try Key.decode(key, as: Int.self)] = value.withUnsafeBytes { [UInt8]($0) }
      return true
    }
    return content
  }

  private struct Mismatch: Error, CustomStringConvertible {
    let description: String
  }

  private func expect(_ snapshot: Snapshot, _ world: World) throws {
    guard try content(of: snapshot) == world.history[snapshot.generation] else {
      throw Mismatch(description: "generation \(snapshot.generation) has other contents")
    }
  }

  private func perform(_ world: inout World, _ number: Int) throws {
    guard let store = world.processes[number].store else {
      let store = try world.processes[number].fixture.open()
      world.processes[number].store = store
      // The first commit of a new lineage does not change the contents.
      world.newest = try store.snapshot().generation
      world.history[world.newest] = world.content
      return try expect(store.snapshot(), world)
    }
    switch world.random.below(20) {
    case 0..<8: try write(&world, store)
    case 8..<11:
      let snapshot = try store.snapshot()
      guard snapshot.generation == world.newest else {
        throw Mismatch(description: "the newest is \(snapshot.generation), not \(world.newest)")
      }
      try expect(snapshot, world)
    case 11: world.processes[number].held.append(try store.snapshot())
    case 12: if !world.processes[number].held.isEmpty { world.processes[number].held.removeFirst() }
    case 13: for snapshot in world.processes[number].held { try expect(snapshot, world) }
    case 14, 15: try store.checkpoint()
    case 16: try pinGiven(&world, store)
    case 17: try keepOrRelease(&world, store)
    case 18:
      let findings = try store.verify().findings
      guard findings.isEmpty else { throw Mismatch(description: "\(findings)") }
    default:
      if world.random.isTrue(in256: 128) { try store.close() }
      world.processes[number].held = []
      world.processes[number].store = nil
    }
  }

  private func write(_ world: inout World, _ store: Store) throws {
    var content = world.content
    let isAbandoned = world.random.isTrue(in256: 24)
    struct Abandoned: Error {}
    do {
      let generation = try store.write(
        durability: world.random.isTrue(in256: 90) ? .full : .normal
      ) { transaction in
        let keyspace = try transaction.keyspace("k")
        for _ in 0...world.random.below(6) {
          let key = world.random.below(300)
          if world.random.isTrue(in256: 60) {
            try keyspace.delete(key)
            content[key] = nil
          } else {
            let value = [UInt8](
              repeating: UInt8(world.random.below(256)), count: 1 + world.random.below(3000))
            try keyspace.put(key, value)
            content[key] = value
          }
        }
        if isAbandoned { throw Abandoned() }
      }
      world.content = content
      world.newest = generation
      world.history[generation] = content
    } catch is Abandoned {}
  }

  /// Pins a generation that one of the processes holds.
  ///
  /// All other processes must be able to pin the same generation.
  private func pinGiven(_ world: inout World, _ store: Store) throws {
    let held = world.processes.flatMap(\.held)
    if !held.isEmpty {
      let snapshot = held[world.random.below(held.count)]
      return try expect(store.snapshot(at: snapshot.generation), world)
    }
    guard
      let generation = world.history.keys.sorted().dropFirst(
        world.random.below(world.history.count)
      ).first
    else { return }
    do { try expect(store.snapshot(at: generation), world) } catch let error as StorageError {
      guard error.kind == .generationExpired, generation != world.newest else { throw error }
    }
  }

  private func keepOrRelease(_ world: inout World, _ store: Store) throws {
    let name = "name \(world.random.below(3))"
    if let generation = world.kept[name] {
      try expect(store.snapshot(at: generation), world)
      try store.release(name)
      world.kept[name] = nil
    } else {
      try store.keep(world.newest, as: name)
      world.kept[name] = world.newest
    }
    guard try store.namedGenerations() == world.kept else {
      throw Mismatch(description: "the named generations differ")
    }
  }
}
