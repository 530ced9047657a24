import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the cost of finding the live generations of another process.
@Suite("The cost of live generations", .serialized)
struct LiveCostTests {
  private static let counts = TestScale.pick(
    quick: [100], all: [100], long: [100, 1000, 10_000])

  /// A query reports only one lock, so the store must also query the ranges on both sides of the
  /// lock.
  @Test(.evidence("I6"), arguments: counts)
  func `is two lock queries for each`(count: Int) throws {
    let calls = CountingFileSystem(PosixFileSystem())
    var options = StoreOptions()
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    let fixture = try StoreFixture.onDisk(options).with(calls)
    try fixture.run { store in
      let other = try fixture.with(OtherProcess(PosixFileSystem())).open()
      var held: [Snapshot] = []
      let clock = ContinuousClock()
      let pinning = try clock.measure {
        for number in 0..<count {
          try other.write(durability: .normal) { try $0.keyspace("rows").put(number, [1]) }
          held.append(try other.snapshot())
        }
      }
      try store.write { try $0.keyspace("rows").put(0, [2]) }
      let before = calls.counts
      let maintenance = try clock.measure { _ = try store.checkpoint() }
      let asked = (calls.counts - before).locks
      #expect(asked >= 2 * count && asked < 2 * count + 20)
      print("live generations: \(count), commits and pins \(pinning), maintenance \(maintenance)")
      held = []
      #expect(try store.checkpoint().blockingGeneration == nil)
      try other.close()
    }
  }

  @Test(.evidence("I6")) func `ends shortly after the last use`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      try store.write { try $0.keyspace("rows").put(1, [1]) }
      let locks = StoreLocks(
        file: try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write)))
      func live() throws -> [FrameNumber] { try locks.liveElsewhere(in: 0..<1 << 20) }
      var snapshot: Snapshot? = try store.snapshot()
      let generation = try #require(snapshot).generation
      #expect(try live() == [generation.frame])
      snapshot = nil
      let start = SystemThread.monotonicMilliseconds
      while try !live().isEmpty, SystemThread.monotonicMilliseconds - start < 30_000 {
        SystemThread.sleep(milliseconds: 5)
      }
      #expect(try live() == [])
      snapshot = try store.snapshot()
      #expect(snapshot?.generation == generation)
    }
  }
}
