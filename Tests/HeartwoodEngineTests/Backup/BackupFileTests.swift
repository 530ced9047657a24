import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Backup files")
struct BackupFileTests {
  /// A store and its backup of three generations, which consists of a full file and two deltas.
  private struct Scene {
    let disk = MemoryFileSystem()
    let fixture: StoreFixture
    private(set) var states: [BackedUpState] = []

    init() throws {
      fixture = StoreFixture.on(disk)
      let store = try fixture.open()
      for round in 0..<3 {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          for key in 0..<200 where key % (round + 1) == 0 {
            try keyspace.put(key, [UInt8](repeating: UInt8(round), count: 300))
          }
        }
        states.append(try BackedUpState(store.snapshot()))
        if round == 1 { try store.keep(store.snapshot().generation, as: "spring") }
        try store.backup(to: "/backup")
      }
      try store.close()
    }

    var backup: Backup { Backup(at: "/backup", on: disk) }

    var names: [String] { get throws { try (disk.list("/backup") ?? []).sorted() } }

    func bytes(_ name: String) throws -> [UInt8] {
      try #require(try disk.open("/backup/" + name, .read)).allBytes()
    }

    func replace(_ name: String, _ bytes: [UInt8]) throws {
      let file = try disk.create("/backup/" + name)
      try file.setByteCount(0)
      try file.write(bytes, at: 0)
    }
  }

  @Test func `sort by generation and describe their contents`() throws {
    let scene = try Scene()
    let generations = scene.states.map(\.generation)
    let digits = generations.map { generation in
      let text = String(generation.frame, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    #expect(
      try scene.names == [
        "delta-\(digits[0])-\(digits[1])", "delta-\(digits[1])-\(digits[2])", "full-\(digits[0])",
        "lock",
      ])
    let points = try scene.backup.restorePoints()
    #expect(points.map(\.generation) == generations)
    #expect(points.map(\.isFull) == [true, false, false])
    #expect(points.map(\.names) == [[], ["spring"], []])
    #expect(points.allSatisfy { $0.byteCount > 4096 && $0.time > 1_600_000_000_000 })
  }

  @Test func `add nothing if nothing has changed`() throws {
    let scene = try Scene()
    let before = try scene.names
    try scene.fixture.run { store in
      let report = try store.backup(to: "/backup")
      // Opening the store for writing after a restart adds an empty commit.
      #expect(report.files.isEmpty || report.byteCount < 10_000)
      let again = try store.backup(to: "/backup")
      #expect(again.files == [] && again.byteCount == 0)
    }
    #expect(try scene.names.count <= before.count + 1)
  }

  @Test(.evidence("A4"), arguments: TestScale.seeds(quick: 60, all: 600, long: 50_000))
  func `that are damaged are named, or restore the right state`(seed: UInt64) throws {
    let scene = try Scene()
    var generator = SeededGenerator(seed: seed)
    let names = try scene.names.filter { $0 != "lock" }
    let name = names[generator.below(names.count)]
    var bytes = try scene.bytes(name)
    switch generator.below(6) {
    case 0: try scene.disk.remove("/backup/" + name)
    case 1: try scene.replace(name, Array(bytes.prefix(generator.below(bytes.count))))
    case 2: try scene.replace(name, bytes + generator.bytes(1 + generator.below(5000)))
    case 3: try scene.replace(name, try scene.bytes(names[generator.below(names.count)]))
    default:
      // The header is a small part of the file, so make half of the changes there.
      let limit = generator.isTrue(in256: 128) ? 1300 : bytes.count
      bytes[generator.below(limit)] ^= 1 << UInt8(generator.below(8))
      try scene.replace(name, bytes)
    }
    for (position, state) in scene.states.enumerated() {
      do {
        try scene.backup.restore(state.generation, to: "/restored\(position)")
        try state.expectEqual(at: "/restored\(position)", on: scene.disk, "seed \(seed)")
      } catch let error as StorageError {
        let kinds: [StorageError.Kind] = [.corrupt, .generationExpired, .incompatibleFormat]
        #expect(kinds.contains(error.kind), "seed \(seed): \(error)")
        #expect(try scene.disk.list("/restored\(position)") == nil)
      }
    }
  }

  @Test(.evidence("A4")) func `list the generations that can still be restored`() throws {
    let scene = try Scene()
    let names = try scene.names
    let frames = scene.states.map(\.generation.frame)
    var bytes = try scene.bytes(names[1])
    bytes[bytes.count - 100] ^= 1
    try scene.replace(names[1], bytes)
    let damaged = #expect(throws: StorageError.self) { try scene.backup.restore(to: "/a") }
    #expect(damaged?.kind == .corrupt && damaged?.file == names[1])
    #expect(damaged?.message.contains("Generation \(frames[1]) can still be restored.") == true)
    try scene.disk.remove("/backup/" + names[0])
    let missing = #expect(throws: StorageError.self) {
      try scene.backup.restore(scene.states[2].generation, to: "/a")
    }
    #expect(missing?.message.contains("depends on generation \(frames[1])") == true)
    #expect(missing?.message.contains("Generation \(frames[0]) can still be restored.") == true)
    try scene.backup.restore(scene.states[0].generation, to: "/b")
    try scene.states[0].expectEqual(at: "/b", on: scene.disk)
    let unknown = #expect(throws: StorageError.self) {
      try scene.backup.restore(Generation(frame: 1), to: "/a")
    }
    #expect(unknown?.kind == .generationExpired)
    #expect(unknown?.message.contains("Use generation \(frames[0])") == true)
    try scene.disk.remove("/backup/" + names[2])
    let nothing = #expect(throws: StorageError.self) { try scene.backup.restore(to: "/a") }
    #expect(nothing?.kind == .corrupt || nothing?.kind == .notAStore)
  }

  @Test(.evidence("A4")) func `do not pass off an old state as the newest`() throws {
    let scene = try Scene()
    let names = try scene.names
    try scene.disk.remove("/backup/" + names[0])
    let error = #expect(throws: StorageError.self) { try scene.backup.restore(to: "/a") }
    #expect(error?.kind == .corrupt)
    #expect(error?.message.contains("can still be restored") == true)
    // The chain cannot be restored, so the next backup does not continue it.
    try scene.fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [9]) }
      try store.backup(to: "/backup")
      try scene.backup.restore(to: "/b")
      try BackedUpState(store.snapshot()).expectEqual(at: "/b", on: scene.disk)
    }
  }

  @Test(.evidence("A4"), arguments: [0, 1, 2])
  func `with a damaged header leave other files usable, and are replaced`(position: Int) throws {
    let scene = try Scene()
    let name = try scene.names[position]
    try scene.replace(name, Array(scene.bytes(name).prefix(500)))
    #expect(try scene.backup.restorePoints().count == 2)
    try scene.fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [9]) }
      try store.backup(to: "/backup")
      try scene.backup.restore(to: "/b")
      try BackedUpState(store.snapshot()).expectEqual(at: "/b", on: scene.disk)
    }
  }

  @Test(.evidence("A5"))
  func `that cannot be written hold at most one more generation`() throws {
    let disk = SimulatedDisk(seed: 3)
    let store = try Store(
      at: "/store", options: StoreFixture.on(disk).options, fileSystem: disk)
    try store.write { try $0.keyspace("k").put(1, [UInt8](repeating: 1, count: 20_000)) }
    try store.backup(to: "/backup")
    for round in 0..<5 as Range<UInt8> {
      try store.write { try $0.keyspace("k").put(1, [UInt8](repeating: round, count: 20_000)) }
      let limit = disk.byteCountLimit
      disk.onWrite = { path, _, _ in
        if path.hasSuffix(".partial") { disk.byteCountLimit = 0 }
      }
      #expect(throws: StorageError.self) { try store.backup(to: "/backup") }
      disk.byteCountLimit = limit
      disk.onWrite = nil
      let held = try store.namedGenerations().count { $0.key.hasPrefix("backup-") }
      // Releasing the second generation also needs disk space, so it waits for the next attempt.
      #expect(held <= 2)
    }
    try store.backup(to: "/backup")
    try Backup(at: "/backup", on: disk).restore(to: "/restored")
    try BackedUpState(store.snapshot()).expectEqual(at: "/restored", on: disk)
    try store.close()
  }

  @Test(.evidence("A2")) func `may outnumber the descriptors of a process`() throws {
    let disk = SimulatedDisk(seed: 4)
    let store = try Store(at: "/store", options: StoreFixture.on(disk).options, fileSystem: disk)
    for round in 0..<40 as Range<UInt8> {
      try store.write { try $0.keyspace("k").put(Int(round), [round]) }
      try store.backup(to: "/backup")
    }
    let before = disk.openFileCount
    var openFileCounts: [Int] = []
    disk.onWrite = { _, _, _ in openFileCounts.append(disk.openFileCount - before) }
    try Backup(at: "/backup", on: disk).restore(to: "/restored")
    try Backup(at: "/backup", on: disk).thin { $0.generation.frame % 7 == 0 }
    disk.onWrite = nil
    #expect((1..<10).contains(openFileCounts.max() ?? 0))
    try BackedUpState(store.snapshot()).expectEqual(at: "/restored", on: disk)
    try store.close()
  }

  @Test(.evidence("A2")) func `are not restored over existing files`() throws {
    let scene = try Scene()
    for path in ["/store", "/backup"] {
      let error = #expect(throws: StorageError.self) { try scene.backup.restore(to: path) }
      #expect(error?.kind == .invalidArgument)
    }
    for path in ["/nothing", "/store"] {
      let backup = Backup(at: path, on: scene.disk)
      #expect(throws: StorageError.self) { _ = try backup.restorePoints() }
    }
  }

  @Test(.evidence("A6")) func `of another store or of a diverged copy are rejected`()
    throws
  {
    let scene = try Scene()
    let other = StoreFixture.on(MemoryFileSystem())
    let store = try Store(at: "/other", options: other.options, fileSystem: scene.disk)
    try store.write { try $0.keyspace("k").put(1, [1]) }
    let foreign = #expect(throws: StorageError.self) { try store.backup(to: "/backup") }
    #expect(foreign?.kind == .foreignStore)
    let notBackup = #expect(throws: StorageError.self) { try store.backup(to: "/store") }
    #expect(notBackup?.kind == .notAStore)
    try store.close()
    // A store restored to an older state does not descend from the directory's newest generation.
    try scene.backup.restore(scene.states[0].generation, to: "/old")
    let old = try Store(at: "/old", options: other.options, fileSystem: scene.disk)
    try old.write { try $0.keyspace("k").put(1, [7]) }
    let diverged = #expect(throws: StorageError.self) { try old.backup(to: "/backup") }
    #expect(diverged?.kind == .foreignStore)
    #expect(diverged?.message.contains("Use a new directory") == true)
    try old.backup(to: "/backup2")
    let state = try BackedUpState(old.snapshot())
    try old.close()
    try Backup(at: "/backup2", on: scene.disk).restore(to: "/again")
    try state.expectEqual(at: "/again", on: scene.disk)
    // A store restored to the newest state continues the existing chain of backup files.
    try scene.backup.restore(to: "/new")
    let new = try Store(at: "/new", options: other.options, fileSystem: scene.disk)
    try new.write { try $0.keyspace("k").put(1, [8]) }
    try new.backup(to: "/backup")
    let continued = try BackedUpState(new.snapshot())
    try new.close()
    try scene.backup.restore(to: "/continued")
    try continued.expectEqual(at: "/continued", on: scene.disk)
  }

  @Test(.evidence("A5")) func `are written by one process at a time`() throws {
    let scene = try Scene()
    let lock = try #require(try scene.disk.open("/backup/lock", .write))
    #expect(try lock.lock(.exclusive, 0..<1))
    try scene.fixture.run { store in
      let error = #expect(throws: StorageError.self) { try store.backup(to: "/backup") }
      #expect(error?.kind == .busy)
    }
    #expect(throws: StorageError.self) { try scene.backup.thin { _ in false } }
    #expect(try scene.backup.restorePoints().count == 3)
  }

  @Test(.evidence("A5")) func `are not added while thinning is in progress`() throws {
    let scene = try Scene()
    try scene.fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [9]) }
      var refusals: [StorageError.Kind] = []
      try scene.backup.thin { _ in
        do {
          try store.backup(to: "/backup")
        } catch let error as StorageError {
          refusals.append(error.kind)
        }
        return false
      }
      #expect(refusals == [.busy, .busy])
      #expect(try scene.backup.restorePoints().count == 1)
      try store.backup(to: "/backup")
      #expect(try scene.backup.restorePoints().count == 2)
    }
  }

  /// The header of a file is incomplete while the file is being uploaded.
  @Test(.evidence("A7"), arguments: [0, 1, 2], [false, true])
  func `are not removed by thinning if their headers are damaged`(
    position: Int, keeps: Bool
  ) throws {
    let scene = try Scene()
    let name = try scene.names[position]
    let bytes = try scene.bytes(name)
    try scene.replace(name, Array(bytes.prefix(500)))
    // The full file builds on no other file, so the delta that follows it can be removed.
    let expected = keeps || position < 2 ? 0 : 1
    #expect(try scene.backup.thin { _ in keeps } == expected)
    #expect(try scene.names.contains(name))
    #expect(throws: StorageError.self) {
      try scene.backup.restore(scene.states[[1, 2, 0][position]].generation, to: "/damaged")
    }
    // The upload ends.
    try scene.replace(name, bytes)
    let left = try scene.backup.restorePoints().map(\.generation)
    #expect(left.count == 3 - expected)
    for state in scene.states where left.contains(state.generation) {
      let path = "/restored\(state.generation.frame)"
      try scene.backup.restore(state.generation, to: path)
      try state.expectEqual(at: path, on: scene.disk)
    }
  }

  /// The next backup is a full file, because the store no longer keeps an earlier generation.
  @Test(.evidence("A7"))
  func `that precede and follow a damaged one stay if they are kept`() throws {
    let scene = try Scene()
    let name = try scene.names[1]
    try scene.replace(name, Array(scene.bytes(name).prefix(500)))
    try scene.fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [9]) }
      try store.backup(to: "/backup")
      let names = try scene.names
      #expect(try scene.backup.thin { _ in true } == 0)
      #expect(try scene.names == names)
      try scene.backup.restore(to: "/b")
      try BackedUpState(store.snapshot()).expectEqual(at: "/b", on: scene.disk)
    }
  }

  @Test(.evidence("A3")) func `with changes are as large as the changed pages`() throws {
    let counting = CountingFileSystem(MemoryFileSystem())
    var options = StoreOptions()
    options.cacheByteCount = 1 << 20
    try StoreFixture.on(counting, options).run { store in
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for key in 0..<40_000 { try keyspace.put(key, [UInt8](repeating: 1, count: 200)) }
      }
      let full = try store.backup(to: "/backup")
      #expect(full.byteCount > 8_000_000)
      try store.checkpoint()
      let before = try store.snapshot()
      try store.write { transaction in
        let keyspace = try transaction.keyspace("k")
        for key in stride(from: 0, to: 40_000, by: 1000) { try keyspace.put(key, [2]) }
      }
      let after = try store.snapshot()
      var changedPageCount = 0
      after.state.index.forEach(newerThan: before.generation.frame) { _, _ in
        changedPageCount += 1
      }
      #expect(changedPageCount >= 40)
      let start = counting.counts
      let delta = try store.backup(to: "/backup")
      let counts = counting.counts - start
      #expect(delta.files.count == 1)
      #expect(counts.bytesRead < (changedPageCount + 20) * 4096)
      #expect(counts.bytesWritten < (changedPageCount + 20) * 4096)
      #expect(Double(delta.byteCount) < 1.1 * Double(changedPageCount * 4096))
    }
  }
}
