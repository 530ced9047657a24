import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("The log while generations are held")
struct LogReclamationTests {
  private static func options(_ access: StoreOptions.Access) -> StoreOptions {
    var options = StoreOptions()
    options.access = access
    options.durability = .normal
    return options
  }

  private static func value(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ number ^ ($0 >> 8)) }
  }

  /// Returns the disk space, in bytes, that is allocated to all files of the store.
  private static func allocated(_ fixture: StoreFixture) throws -> Int {
    try fixture.names().reduce(0) { total, name in
      let file = try fixture.fileSystem.open(fixture.path(of: name), .read)
      return total + Int(try file?.allocatedByteCount() ?? 0)
    }
  }

  @Test(.evidence("K3"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `stays under 64 MB for thousands of overwrites of 32 KiB with one snapshot`(
    access: StoreOptions.Access
  ) throws {
    let fixture = try StoreFixture.onDisk(Self.options(access))
    try fixture.run { store in
      try store.write { try $0.keyspace("a").put(1, Self.value(0, 32 << 10)) }
      let snapshot = try store.snapshot()
      var most = 0
      let count = TestScale.pick(quick: 500, all: 10_000)
      for number in 1...count {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32 << 10)
        try store.write { try $0.keyspace("a").put(1, value) }
        if number % 50 == 0 { most = max(most, try Self.allocated(fixture)) }
        if number % 500 == 0 {
          #expect(try snapshot.keyspace("a")?.get(1) == Self.value(0, 32 << 10))
        }
      }
      print("at most \(most) bytes allocated (\(access))")
      #expect(most <= 64_000_000)
      #expect(try snapshot.keyspace("a")?.get(1) == Self.value(0, 32 << 10))
    }
  }

  @Test(.evidence("K3"), .evidence("I1"), arguments: TestScale.some([3, 2, 1] as [UInt64]))
  func `stays within its size limit while snapshots of different ages are open`(
    seed: UInt64
  ) throws {
    var options = Self.options(seed % 2 == 0 ? .buffered : .mapped)
    options.segmentByteCount = 1 << 20
    options.pageByteCount = seed == 3 ? 16_384 : 4096
    let fixture = try StoreFixture.onDisk(options)
    var generator = SeededGenerator(seed: seed)
    try fixture.run { store in
      var pinned: [(snapshot: Snapshot, model: [Int: [UInt8]])] = []
      var model: [Int: [UInt8]] = [:]
      for round in 0..<TestScale.pick(quick: 100, all: 500, long: 1200) {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("a")
          for _ in 0..<20 {
            let key = generator.below(800)
            let value = Self.value(round, generator.below(900))
            try keyspace.put(key, value)
            model[key] = value
          }
        }
        if round % 200 == 50 { pinned.append((try store.snapshot(), model)) }
        if pinned.count > 3 { pinned.remove(at: generator.below(4)) }
        if round % 100 == 99 {
          try store.checkpoint()
          let statistics = store.statistics
          let bound = try #require(statistics.logByteBound)
          #expect(statistics.logByteCount <= bound, "round \(round), seed \(seed)")
          #expect(statistics.canPunchHoles)
          let oldest = try #require(statistics.oldestHeldGeneration)
          #expect(oldest.generation == pinned.map(\.snapshot.generation).min())
        }
      }
      for (snapshot, model) in pinned {
        let keyspace = try #require(try snapshot.keyspace("a"))
        for key in 0..<800 { #expect(try keyspace.get(key) == model[key]) }
        let again = try store.snapshot(at: snapshot.generation)
        #expect(try again.keyspace("a")?.count() == model.count)
      }
    }
  }

  @Test(.evidence("K4"))
  func `frees only complete segments, and reports it, if files cannot have holes`() throws {
    let disk = SimulatedDisk(seed: 7)
    disk.canPunch = false
    var options = StoreOptions()
    options.segmentByteCount = 32 << 10
    options.checkpointLogByteCount = 0
    let fixture = StoreFixture.on(disk, options)
    try fixture.run { store in
      try store.write { try $0.keyspace("a").put(1, Self.value(0, 3000)) }
      let snapshot = try store.snapshot()
      for number in 1...100 {
        try store.write { try $0.keyspace("a").put(1, Self.value(number, 3000)) }
      }
      let before = try fixture.names().count
      try store.checkpoint()
      #expect(try fixture.names().count < before - 30)
      // A run punches holes only in segments that were already full during the previous run.
      for _ in 0..<2 {
        for number in 101...120 {
          try store.write { try $0.keyspace("a").put(2, Self.value(number, 3000)) }
        }
        try store.checkpoint()
      }
      #expect(!store.statistics.canPunchHoles)
      #expect(try snapshot.keyspace("a")?.get(1) == Self.value(0, 3000))
      #expect(try store.snapshot().keyspace("a")?.get(1) == Self.value(100, 3000))
    }
  }

  @Test(.evidence("K3"))
  func `reclaims the frames that an interrupted maintenance run has left`() throws {
    let directory = try ScratchDirectory()
    func store(_ path: String) throws -> Store {
      var options = Self.options(.buffered)
      options.maintenance = .inline
      options.checkpointLogByteCount = 0
      options.segmentByteCount = 1 << 20
      return try Store(at: path, options: options)
    }
    let path = directory.path(of: "store")
    let first = try store(path)
    for number in 0..<200 {
      try first.write { try $0.keyspace("a").put(1, Self.value(number, 30_000)) }
      // The page file will contain the complete generation "x". Generation "y" also needs frames
      // from the log.
      if number == 20 { try first.keep(first.snapshot().generation, as: "x") }
      if number == 100 { try first.keep(first.snapshot().generation, as: "y") }
    }
    // The second run punches holes in the segments that were full during the first run.
    for number in 0..<2 {
      try first.checkpoint()
      try first.write { try $0.keyspace("a").put(1, [UInt8(number)]) }
    }
    try first.checkpoint()
    let size = first.statistics.logByteCount
    try first.close()
    // Fill the holes with garbage, as if the process had died before punching out the frames that
    // the map does not list.
    let system = PosixFileSystem()
    let names = try #require(try system.list(path)).filter { $0.hasPrefix("wal-") }.sorted()
    for name in names.dropLast() {
      let file = try #require(try system.open(path + "/" + name, .write))
      let garbage = [UInt8](repeating: 0xEE, count: 4096)
      for frame in 1..<250 {
        var bytes = [UInt8](repeating: 0, count: 4096)
        bytes.withUnsafeMutableBytes { buffer in
          guard let base = buffer.baseAddress else { return }
          _ = try? file.read(into: MutableBytes(base, count: 4096), at: UInt64(frame * 4096))
        }
        if bytes.allSatisfy({ $0 == 0 }) {
          try garbage.withBytes { bytes throws(StorageError) in
            try file.write([bytes], at: UInt64(frame * 4096))
          }
        }
      }
    }
    let second = try store(path)
    #expect(second.statistics.logByteCount > size + (1 << 19))
    try second.write { try $0.keyspace("a").put(1, [1]) }
    try second.checkpoint()
    #expect(second.statistics.logByteCount <= size + (1 << 18))
    for (name, number) in [("x", 20), ("y", 100)] {
      let kept = try second.snapshot(at: try #require(try second.namedGenerations()[name]))
      #expect(try kept.keyspace("a")?.get(1) == Self.value(number, 30_000))
    }
    try StoreFixture.expectSound(second)
    try second.close()
  }

  @Test(.evidence("D14"))
  func `reclaims frames only after the map is durable`() throws {
    let disk = SimulatedDisk(seed: 9)
    var options = StoreOptions()
    options.durability = .normal
    options.segmentByteCount = 64 << 10
    options.checkpointLogByteCount = 0
    let fixture = StoreFixture.on(disk, options)
    var holes = 0
    try fixture.run { store in
      var snapshots: [Snapshot] = []
      disk.onPunch = { path, range in
        holes += 1
        let map = disk.bytes(of: "/store/map") ?? []
        #expect(disk.isDurable("/store/map", 0..<map.count))
        let end = UInt64(path.suffix(16), radix: 16).map { $0 - 1 + range.upperBound / 4096 } ?? 0
        // Once a segment receives no more frames, its header and footer may be punched out, too.
        #expect(end <= store.statistics.newestGeneration.frame + 1 || range.upperBound == 64 << 10)
      }
      for number in 0..<200 {
        try store.write { try $0.keyspace("a").put(number % 7, Self.value(number, 3000)) }
        if number % 40 == 3 { snapshots.append(try store.snapshot()) }
        if number % 40 == 39 { try store.checkpoint() }
      }
      for (position, snapshot) in snapshots.enumerated() {
        let number = position * 40 + 3
        let value = try snapshot.keyspace("a")?.get(number % 7)
        #expect(value == Self.value(number, 3000))
      }
    }
    #expect(holes > 10)
  }

  @Test(.evidence("I1"), .evidence("I5"))
  func `keeps more generations than the decision record can list`() throws {
    var options = StoreOptions()
    options.segmentByteCount = 128 << 10
    options.checkpointLogByteCount = 0
    try StoreFixture.inMemory(options).run { store in
      var snapshots: [Int: Snapshot] = [:]
      for number in 0..<500 {
        try store.write { try $0.keyspace("a").put(number % 3, Self.value(number, 700)) }
        if number % 2 == 0 { snapshots[number] = try store.snapshot() }
      }
      #expect(snapshots.count > Limits.maxRetainedGenerationCount)
      for round in 0..<3 {
        try store.checkpoint()
        for (number, snapshot) in snapshots {
          #expect(
            try snapshot.keyspace("a")?.get(number % 3) == Self.value(number, 700), "\(round)")
          let again = try store.snapshot(at: snapshot.generation)
          #expect(again.generation == snapshot.generation)
        }
        for number in snapshots.keys.sorted().prefix(60) { snapshots[number] = nil }
        try store.write { try $0.keyspace("a").put(9, Self.value(round, 700)) }
      }
      let held = try store.liveGenerations()
      #expect(held.count { $0.snapshotCount > 0 } == snapshots.count)
    }
  }
}
