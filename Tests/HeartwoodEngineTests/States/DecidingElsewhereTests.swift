import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests, step by step, how this process pins generations while another process runs maintenance.
@Suite("A maintenance run of another process")
struct DecidingElsewhereTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  private func fixture() -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 8 * 4096
    return .on(fileSystem, options)
  }

  @discardableResult
  private func put(_ store: Store, _ value: UInt8) throws -> Generation {
    try store.write { try $0.keyspace("k").put(1, [value]) }
  }

  private func value(_ store: Store, _ generation: Generation) throws -> UInt8? {
    try store.snapshot(at: generation).keyspace("k")?.get(1)?.first
  }

  private func isShared(_ kind: LockKind, _ range: Range<UInt64>, _ generation: Generation) -> Bool
  {
    guard case .shared = kind else { return false }
    return range.lowerBound == LockByte.live + generation.frame
  }

  @Test(.evidence("I5")) func `makes pins of a generation wait while it decides`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second in
        try first.keep(put(first, 1), as: "first")
        let generation = try put(first, 2)
        try put(first, 3)
        var asking: Aside?
        fileSystem.onRead = { path, _ throws(StorageError) in
          // The run has already read the pins, and this generation was not pinned.
          guard path.hasSuffix("/kept"), asking == nil else { return }
          asking = Aside { _ = try first.snapshot(at: generation) }
          asking?.giveTime()
          #expect(asking?.isDone == false)
        }
        try second.checkpoint()
        fileSystem.onRead = nil
        #expect(asking?.outcome() == .generationExpired)
      }
    }
  }

  @Test(.evidence("U4")) func `makes no pin wait once the store has been closed`() throws {
    let fixture = fixture()
    try fixture.elsewhere().run { writer in
      let generation = try put(writer, 1)
      var reading = fixture
      reading.options.isReadOnly = true
      reading.options.busyTimeout = .seconds(60)
      let reader = try reading.open()
      let counters = try fixture.counters()
      counters.store(counters.epoch | 1, CountersLayout.epoch)
      let other = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
      let (live, maintenance) = (LockByte.live + generation.frame, LockByte.maintenance)
      #expect(try other.lock(.exclusive, maintenance..<maintenance + 1))
      let asking = Aside { _ = try reader.snapshot(at: generation) }
      asking.giveTime()
      #expect(!asking.isDone)
      try reader.close()
      #expect(asking.outcome() == .closed)
      #expect(try other.lockedByOthers(in: live..<live + 1) == nil)
      counters.store(counters.epoch + 1, CountersLayout.epoch)
      #expect(try other.lock(.none, maintenance..<maintenance + 1))
    }
  }

  @Test(.evidence("B5"))
  func `may release the oldest generation while a verification is about to pin it`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second in
        let generation = try put(first, 1)
        var held: Snapshot? = try second.snapshot()
        try put(first, 2)
        var hasRun = false
        fileSystem.onLock = { kind, range in
          guard !hasRun, isShared(kind, range, generation) else { return }
          hasRun = true
          withExtendedLifetime(held) {}
          held = nil
          #expect(throws: Never.self) { try second.checkpoint() }
        }
        try StoreFixture.expectSound(first)
        fileSystem.onLock = nil
        #expect(hasRun)
      }
    }
  }

  @Test(.evidence("I2"), .evidence("I5")) func `blocks no pin if it died while deciding`()
    throws
  {
    let fixture = fixture()
    try fixture.run { store in
      let generation = try put(store, 1)
      try put(store, 2)
      let counters = try fixture.counters()
      counters.store(counters.epoch | 1, CountersLayout.epoch)
      #expect(try value(store, generation) == 1)
      #expect(try store.checkpoint().blockingGeneration == nil)
      #expect(counters.epoch % 2 == 0)
    }
  }

  @Test(.evidence("I5")) func `has released dead generations if it ends before the lock`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second in
        try first.keep(put(first, 1), as: "first")
        let generation = try put(first, 2)
        // The second process makes this commit, so the first process does not have the commit's
        // state in memory.
        try put(second, 3)
        var hasRun = false
        fileSystem.onLock = { kind, range in
          guard !hasRun, isShared(kind, range, generation) else { return }
          hasRun = true
          #expect(throws: Never.self) { try second.checkpoint() }
        }
        let error = #expect(throws: StorageError.self) { try first.snapshot(at: generation) }
        fileSystem.onLock = nil
        #expect(hasRun)
        #expect(error?.kind == .generationExpired)
      }
    }
  }

  /// Locks belong to a process, not to a thread, so releasing a lock byte for one thread would
  /// release it for all threads.
  @Test(.evidence("I6")) func `releases no lock of a thread that is building a state`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let generation = try put(store, 1)
      for number: UInt8 in 2..<5 { try put(store, number) }
      let counters = try fixture.counters()
      let other = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
      let (live, maintenance) = (LockByte.live + generation.frame, LockByte.maintenance)
      var asking: Aside?
      fileSystem.onRead = { _, _ throws(StorageError) in
        guard asking == nil else { return }
        counters.store(counters.epoch | 1, CountersLayout.epoch)
        let isDeciding = try other.lock(.exclusive, maintenance..<maintenance + 1)
        #expect(isDeciding)
        asking = Aside { _ = try store.snapshot(at: generation) }
        asking?.giveTime()
        #expect(asking?.isDone == false)
        let isLive = try other.lockedByOthers(in: live..<live + 1) != nil
        #expect(isLive)
        counters.store(counters.epoch + 1, CountersLayout.epoch)
        _ = try other.lock(.none, maintenance..<maintenance + 1)
      }
      #expect(try value(store, generation) == 1)
      fileSystem.onRead = nil
      #expect(asking?.outcome() == nil)
      #expect(try other.lockedByOthers(in: live..<live + 1) == nil)
    }
  }

  /// If the run begins after the opening has locked a generation, the run finds the lock.
  ///
  /// If the run begins earlier, the opening finds a floor above the generation.
  @Test(.evidence("I1"), .evidence("I8"))
  func `releases nothing that a concurrent opening reads`() throws {
    var moment = 0
    var isOver = false
    while !isOver {
      moment += 1
      let fileSystem = ObservedFileSystem(MemoryFileSystem())
      let fixture = StoreFixture.on(fileSystem, fixture().options)
      try fixture.run { first in
        for number: UInt8 in 1..<20 { try put(first, number) }
        var callCount = 0
        let step = {
          callCount += 1
          guard callCount == moment else { return }
          #expect(throws: Never.self) {
            for number: UInt8 in 20..<40 { try put(first, number) }
            try first.checkpoint()
          }
        }
        fileSystem.onRead = { _, _ throws(StorageError) in step() }
        fileSystem.onLock = { kind, range in
          guard case .shared = kind, range.lowerBound >= LockByte.live else { return }
          step()
        }
        let second = Result { try fixture.elsewhere().open() }
        isOver = callCount < moment
        fileSystem.onRead = nil
        fileSystem.onLock = nil
        #expect(throws: Never.self, "moment \(moment)") {
          let newest = try second.get().snapshot().keyspace("k")?.get(1)
          #expect(newest == [isOver ? 19 : 39], "moment \(moment)")
          try StoreFixture.expectSound(second.get())
          try second.get().close()
        }
      }
    }
    #expect(moment > 5)
  }
}
