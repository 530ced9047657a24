import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which generations a maintenance run must retain, and which work it must not repeat.
@Suite("A maintenance run")
struct MaintenanceRunTests {
  private static var options: StoreOptions {
    var options = StoreOptions()
    options.durability = .normal
    options.segmentByteCount = 256 << 10
    options.checkpointLogByteCount = 0
    return options
  }

  private static let large = [UInt8](repeating: 0x5A, count: 3_000_000)

  private func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 700)
  }

  private func put(_ number: Int, in name: String = "a", _ store: Store) throws {
    try store.write { try $0.keyspace(name).put(number % 3, value(number)) }
  }

  // MARK: Interrupted runs

  /// The interrupted run has written its map, but has not freed the frames that the map omits.
  @Test(.mustEnd, .evidence("K3"), .evidence("S1"))
  func `completes an interrupted log reclamation`() throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    try StoreFixture.on(files, Self.options).run { store in
      try put(1, store)
      try store.keep(store.snapshot().generation, as: "first")
      for number in 0..<300 { try put(number, store) }
      let (isIn, canContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      files.onWrite = { path, _ throws(StorageError) in
        guard path.hasSuffix("/map.new") else { return }
        files.onWrite = nil
        isIn.signal()
        canContinue.wait()
      }
      let running = Aside { try store.checkpoint() }
      isIn.wait()
      let suspending = Aside { try store.suspend() }
      suspending.giveTime()
      canContinue.signal()
      #expect([running.outcome(), suspending.outcome()] == [.suspended, nil])
      try store.resume()
      #expect(try store.checkpoint().segmentCount > 0)
    }
  }

  /// The failed run has made its decision, but has not written its map.
  ///
  /// The frames of the dead generation are therefore still there. Another process locks the
  /// generation, as it does before it finds that it cannot pin it.
  @Test(.evidence("I5")) func `never revives a generation that a failed run has released`() throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    let fixture = StoreFixture.on(files, Self.options)
    try fixture.run { store in
      try put(1, store)
      try store.keep(store.snapshot().generation, as: "first")
      for number in 0..<300 { try put(number, store) }
      let dead = try store.snapshot().generation
      for number in 0..<300 { try put(number, store) }
      files.onWrite = { path, _ throws(StorageError) in
        if path.hasSuffix("/map.new") { throw StorageError(.diskFull, "The disk is full.") }
      }
      let full = #expect(throws: StorageError.self) { try store.checkpoint() }
      #expect(full?.kind == .diskFull)
      files.onWrite = nil
      let locks = StoreLocks(
        file: try #require(try files.open(fixture.path(of: "locks"), .write)))
      try locks.lockLive(dead.frame)
      try store.checkpoint()
      let expired = #expect(throws: StorageError.self) { try store.snapshot(at: dead) }
      #expect(expired?.kind == .generationExpired)
      try locks.unlockLive(dead.frame)
    }
  }

  /// The interrupted run waits for a writer of another process before it truncates the page file.
  @Test(.mustEnd, .evidence("S1"), .evidence("S4"))
  func `completes the interrupted truncation of the page file`() throws {
    let fixture = StoreFixture.on(MemoryFileSystem(), Self.options)
    try fixture.run { store in
      try put(1, store)
      try store.write { try $0.keyspace("large").put(1, Self.large) }
      try store.checkpoint()
      try store.write { try $0.removeKeyspace("large") }
      let other = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
      #expect(try other.lock(.exclusive, LockByte.writer..<LockByte.writer + 1))
      let running = Aside { try store.checkpoint() }
      running.giveTime()
      try store.suspend()
      #expect(running.outcome() == .suspended)
      #expect(try other.lock(.none, LockByte.writer..<LockByte.writer + 1))
      try store.resume()
      try store.checkpoint()
      #expect(try fixture.bytes(of: "pages").count < 1_000_000)
    }
  }

  // MARK: Space in the page file

  @Test(.evidence("F6"))
  func `keeps the space reserved by a commit while the page file holds an older state`() throws {
    let disk = QuotaFileSystem(directory: "/store", limit: 64 << 20)
    try StoreFixture.on(disk, Self.options).run { store in
      try put(1, store)
      var snapshot: Snapshot? = try store.snapshot()
      let generation = snapshot?.generation
      try store.write { try $0.keyspace("large").put(1, Self.large) }
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == generation)
      disk.limit = try disk.used()
      snapshot = nil
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == store.statistics.newestGeneration)
      disk.limit = 64 << 20
    }
  }

  @Test(.evidence("F6"))
  func `keeps the space of a held generation even if later generations need less`() throws {
    let disk = QuotaFileSystem(directory: "/store", limit: 64 << 20)
    try StoreFixture.on(disk, Self.options).run { store in
      try put(1, store)
      var first: Snapshot? = try store.snapshot()
      try store.write { try $0.keyspace("large").put(1, Self.large) }
      let second = try store.snapshot()
      try store.write { try $0.removeKeyspace("large") }
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == first?.generation)
      disk.limit = try disk.used()
      first = nil
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == second.generation)
      #expect(try second.keyspace("large")?.get(1) == Self.large)
      disk.limit = 64 << 20
    }
  }

  @Test func `does not write pages that no longer exist`() throws {
    try StoreFixture.inMemory(Self.options).run { store in
      try put(1, store)
      try store.checkpoint()
      try store.write { try $0.keyspace("large").put(1, Self.large) }
      try store.write { try $0.removeKeyspace("large") }
      let result = try store.checkpoint()
      #expect(result.pageCount < 20)
    }
  }

  /// There are more pages than one bitmap page covers, so the truncated pages include a bitmap
  /// page.
  @Test func `does not look for truncated pages`() throws {
    try StoreFixture.inMemory(Self.options).run { store in
      try put(1, store)
      try store.checkpoint()
      let value = [UInt8](repeating: 0x5A, count: TestScale.pick(quick: 40, all: 140) << 20)
      try store.write { try $0.keyspace("large").put(1, value) }
      try store.write { try $0.removeKeyspace("large") }
      #expect(store.statistics.pageCount < 100)
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == store.statistics.newestGeneration)
    }
  }

  // MARK: Reclaimed generations

  @Test(.evidence("I5")) func `revives no generation that an earlier run released`() throws {
    try StoreFixture.inMemory(Self.options).run { store in
      try put(0, store)
      let held = try store.snapshot()
      let generations = try (1..<40).map { number in
        try put(number, store)
        return try store.snapshot().generation
      }
      for _ in 0..<2 {
        try store.checkpoint()
        for generation in generations.dropLast() {
          let error = #expect(throws: StorageError.self) { try store.snapshot(at: generation) }
          #expect(error?.kind == .generationExpired)
          #expect(!store.files.counters.decision.isAlive(generation.frame))
        }
      }
      #expect(try held.keyspace("a")?.get(0) == value(0))
    }
  }

  /// More generations are held than a decision record can list.
  ///
  /// The cache is small, so all of these generations are read from the files.
  @Test(.evidence("I1"), .evidence("I5")) func `retains the frames of all held generations`() throws
  {
    var options = Self.options
    options.segmentByteCount = 128 << 10
    options.cacheByteCount = 1 << 20
    try StoreFixture.inMemory(options).run { store in
      var snapshots: [Snapshot] = []
      for number in 0..<300 {
        try put(number, store)
        snapshots.append(try store.snapshot())
      }
      #expect(snapshots.count > Limits.maxRetainedGenerationCount)
      try store.checkpoint()
      for number in 0..<600 { try put(number, in: "b", store) }
      for (number, snapshot) in snapshots.enumerated() {
        #expect(try snapshot.keyspace("a")?.get(number % 3) == value(number), "\(number)")
      }
    }
  }

  /// The previous map still lists frames whose segments have been deleted.
  ///
  /// The pages of these frames have since been written to the page file.
  @Test(.evidence("K1"), .evidence("I7"))
  func `retains everything that is held if it dies after any step`() throws {
    func prepared() throws -> (SimulatedDisk, Store) {
      let disk = SimulatedDisk(seed: 3)
      var options = Self.options
      options.segmentByteCount = 32 << 10
      let store = try StoreFixture.on(disk, options).open()
      try put(0, store)
      try store.keep(store.snapshot().generation, as: "first")
      try put(1, in: "old", store)
      for number in 0..<30 { try put(number, store) }
      try store.keep(store.snapshot().generation, as: "second")
      for number in 30..<90 { try put(number, store) }
      try store.checkpoint()
      try store.release("first")
      return (disk, store)
    }
    let (complete, store) = try prepared()
    let before = complete.callCount
    try store.checkpoint()
    #expect(complete.callCount > before + 10)
    for call in before + 1...complete.callCount {
      let (disk, store) = try prepared()
      disk.faultPlan = .powerCut(atCall: call)
      _ = try? store.checkpoint()
      disk.faultPlan = FaultPlan()
      for retained in [disk.killed(), disk.crashed(.nothing), disk.crashed(.everything)] {
        try StoreFixture.on(retained, Self.options).run { store in
          #expect(try store.snapshot().keyspace("old")?.get(1) == value(1), "call \(call)")
          let kept = try #require(try store.namedGenerations()["second"], "call \(call)")
          #expect(try store.snapshot(at: kept).keyspace("a")?.get(2) == value(29), "call \(call)")
          #expect(try store.snapshot().keyspace("a")?.get(2) == value(89), "call \(call)")
        }
      }
    }
  }

  /// After a restart, the log continues in a new lineage, whose empty first commit is in a new
  /// segment.
  @Test(.evidence("D13")) func `keeps the segment in which the log continues`() throws {
    let disk = QuotaFileSystem(directory: "/store", limit: 64 << 20)
    let fixture = StoreFixture.on(disk, Self.options)
    try fixture.run { store in
      try put(0, store)
      try store.keep(store.snapshot().generation, as: "kept")
      for number in 0..<200 {
        try put(number, store)
        if number > 195 { try store.keep(store.snapshot().generation, as: "\(number)") }
      }
      try store.checkpoint()
    }
    for boot in 2..<5 as Range<UInt64> {
      disk.boot = boot
      let number = Int(boot) * 3
      try fixture.run { store throws in
        try fixture.elsewhere().run { other in
          // The segment no longer contains retained frames, and is needed only because another
          // process continues to commit to it.
          try store.release("\(194 + boot)")
          try store.checkpoint()
          try put(number, other)
          let seen = try store.snapshot().keyspace("a")?.get(0)
          #expect(seen == value(number))
          try store.checkpoint()
        }
      }
      try fixture.run { store in
        let found = try store.snapshot().keyspace("a")?.get(0)
        #expect(found == value(number))
      }
    }
  }
}
