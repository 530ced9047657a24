import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests how each byte of the lock file protects a store from the actions of other processes.
@Suite("The lock bytes of a store")
struct LockByteTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  private func fixture(_ busyTimeout: Duration = .seconds(60)) -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    options.busyTimeout = busyTimeout
    return .on(fileSystem, options)
  }

  /// Opens the lock file as another process would.
  private func other(_ fixture: StoreFixture) throws -> any File {
    try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
  }

  private func isHeld(_ byte: UInt64, _ file: any File) throws -> Bool {
    try file.lockedByOthers(in: byte..<byte + 1) != nil
  }

  @Test(.evidence("I8")) func `show which processes have it open`() throws {
    let fixture = fixture()
    var reading = fixture.elsewhere()
    reading.options.isReadOnly = true
    let first = try fixture.open()
    let other = try other(fixture)
    #expect(try isHeld(LockByte.presenceReadWrite, other))
    #expect(try !isHeld(LockByte.presenceReadOnly, other))
    let second = try fixture.elsewhere().open()
    try first.close()
    #expect(try isHeld(LockByte.presenceReadWrite, other))
    let reader = try reading.open()
    #expect(try isHeld(LockByte.presenceReadOnly, other))
    try StoreFixture.expectSound(reader)
    try second.close()
    #expect(try !isHeld(LockByte.presenceReadWrite, other))
    #expect(try isHeld(LockByte.presenceReadOnly, other))
    try reader.close()
    #expect(try !isHeld(LockByte.presenceReadOnly, other))
  }

  @Test(.evidence("I6")) func `are released with the last snapshot of a closed store`() throws {
    let fixture = fixture()
    let store = try fixture.open()
    var held = [try store.snapshot()]
    try store.close()
    let other = try other(fixture)
    #expect(try other.lockedByOthers(in: 0..<1 << 62) != nil && held.count == 1)
    held.removeAll()
    #expect(try other.lockedByOthers(in: 0..<1 << 62) == nil)
    withExtendedLifetime(store) {}
  }

  /// A process may run recovery only if no other process has the store open.
  ///
  /// Otherwise, recovery would end the decisions of other processes, and would treat commits as
  /// durable that were never synced.
  @Test(.evidence("I8")) func `protect the counters in use from a process that attaches`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try first.write(durability: .normal) { try $0.keyspace("k").put(1, [1]) }
      let counters = try fixture.counters()
      counters.store(counters.epoch | 1, CountersLayout.epoch)
      let (epoch, durable) = (counters.epoch, counters.durable)
      #expect(durable < counters.committed)
      let second = try fixture.elsewhere().open()
      #expect(counters.epoch == epoch)
      #expect(counters.durable == durable)
      #expect(try second.snapshot().keyspace("k")?.get(1) == [1])
      try StoreFixture.expectSound(second)
      try second.close()
    }
  }

  private static let holdUps: [(byte: UInt64, work: @Sendable (Store) throws -> Void)] = [
    (LockByte.maintenance, { try $0.checkpoint() }),
    (LockByte.writer, { try $0.write { try $0.keyspace("k").put(2, [2]) } }),
    (
      LockByte.sync,
      { try $0.write(durability: .full) { try $0.keyspace("k").put(2, [2]) } }
    ),
    (LockByte.keep, { try $0.keep($0.snapshot().generation, as: "x") }),
    (
      LockByte.allocator,
      { store in
        let counters = store.files.counters
        try store.files.allocator.refill(lineage: 1) { counters.appended }
      }
    ),
  ]

  @Test(
    .waiting, .evidence("I3"), .evidence("I7"), .evidence("K1"), arguments: holdUps.indices)
  func `block a process that needs a lock of another process`(number: Int) throws {
    let (byte, work) = Self.holdUps[number]
    let fixture = fixture()
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let other = try other(fixture)
      #expect(try other.lock(.exclusive, byte..<byte + 1))
      let aside = Aside { try work(store) }
      aside.giveTime()
      #expect(!aside.isDone, "byte \(byte)")
      #expect(try other.lock(.none, byte..<byte + 1))
      #expect(aside.outcome() == nil, "byte \(byte)")
      #expect(try !isHeld(byte, other), "byte \(byte)")
    }
  }

  @Test(.evidence("I3")) func `block a process no longer than the timeout`() throws {
    let fixture = fixture(.milliseconds(30))
    try fixture.run { store in
      let other = try other(fixture)
      #expect(try other.lock(.exclusive, LockByte.writer..<LockByte.writer + 1))
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(1, [1]) }
      }
      #expect(error?.kind == .busy)
      #expect(try other.lock(.none, LockByte.writer..<LockByte.writer + 1))
      try store.write { try $0.keyspace("k").put(1, [1]) }
    }
  }

  @Test(.waiting, .evidence("I3"))
  func `block a process until they are released with the longest timeout`() throws {
    let fixture = fixture(.seconds(Int64.max))
    try fixture.run { store in
      let other = try other(fixture)
      #expect(try other.lock(.exclusive, LockByte.writer..<LockByte.writer + 1))
      let aside = Aside { try store.write { try $0.keyspace("k").put(1, [1]) } }
      aside.giveTime()
      #expect(!aside.isDone)
      #expect(try other.lock(.none, LockByte.writer..<LockByte.writer + 1))
      #expect(aside.outcome() == nil)
    }
  }

  @Test(.evidence("I3"))
  func `reveal another program that locks shared bytes exclusively`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let other = try other(fixture)
      let bytes = [LockByte.writer, LockByte.doorbell, LockByte.live + 1000]
      for byte in bytes { #expect(try other.lock(.exclusive, byte..<byte + 1)) }
      let writing = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(1, [1]) }
      }
      #expect(writing?.kind == .io)
      let own = StoreLocks(file: try self.other(fixture))
      let reading = #expect(throws: StorageError.self) { try own.lockLive(1000) }
      #expect(reading?.kind == .io)
      for byte in bytes { #expect(try other.lock(.none, byte..<byte + 1)) }
      try store.write { try $0.keyspace("k").put(1, [1]) }
    }
  }

  @Test(.evidence("I3")) func `show the writer that another writer is waiting`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let (other, counters) = (try other(fixture), try fixture.counters())
      let rings = counters.load(CountersLayout.rings)
      #expect(try other.lock(.exclusive, LockByte.writer..<LockByte.writer + 1))
      let aside = Aside { try store.write { try $0.keyspace("k").put(1, [1]) } }
      aside.giveTime()
      #expect(counters.load(CountersLayout.rings) > rings)
      #expect(try isHeld(LockByte.doorbell, other))
      #expect(try other.lock(.none, LockByte.writer..<LockByte.writer + 1))
      #expect(aside.outcome() == nil)
      #expect(try !isHeld(LockByte.doorbell, other))
    }
  }

  @Test(.evidence("I3")) func `let a waiting writer of another process go first`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let (other, counters) = (try other(fixture), try fixture.counters())
      #expect(try other.lock(.shared, LockByte.doorbell..<LockByte.doorbell + 1))
      counters.add(1, CountersLayout.rings)
      var questionCount = 0
      fileSystem.onQuestion = {
        questionCount += 1
        // Release the doorbell at the third query, as a process does after its turn.
        guard questionCount == 3 else { return }
        _ = try? other.lock(.none, LockByte.doorbell..<LockByte.doorbell + 1)
      }
      for number in 0..<3 { try store.write { try $0.keyspace("k").put(number, [1]) } }
      fileSystem.onQuestion = nil
      #expect(questionCount == 3)
    }
  }

  /// The kernel may report any of several locks.
  ///
  /// The simulated kernel reports the oldest lock.
  @Test(.evidence("I6")) func `of live generations are all found, in any order`() throws {
    let fixture = fixture()
    let orders: [[FrameNumber]] = [[2, 5, 7, 9], [9, 7, 5, 2], [5, 9, 2, 7], [7, 2, 9, 5]]
    for order in orders {
      try fixture.run { store in
        let others = try order.map { generation in
          let file = try other(fixture)
          try StoreLocks(file: file).lockLive(generation)
          return file
        }
        #expect(try store.files.locks.liveElsewhere(in: 0..<20) == [2, 5, 7, 9])
        #expect(try store.files.locks.liveElsewhere(in: 3..<9) == [5, 7])
        withExtendedLifetime(others) {}
      }
    }
  }

  /// The failure may have lost frames that the reader has verified.
  ///
  /// A writer would overwrite these frames while the reader reads them.
  @Test(.evidence("F3")) func `keep writing disabled after a failure while a reader is present`()
    throws
  {
    let fixture = fixture()
    var reading = fixture.elsewhere()
    reading.options.isReadOnly = true
    var store: Store? = try fixture.open()
    try store?.write { try $0.keyspace("k").put(1, [1]) }
    try reading.run { reader in
      #expect(try reader.snapshot().keyspace("k")?.get(1) == [1])
      try fixture.counters().setFailed()
      store = nil
      let error = #expect(throws: StorageError.self) { try fixture.open() }
      #expect(error?.kind == .busy)
      #expect(try reader.snapshot().keyspace("k")?.get(1) == [1])
    }
    try fixture.run { store throws in
      #expect(store.recovery.startedLineage)
      #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    }
  }

  /// A reader's presence does not prove that the counters belong to this boot.
  @Test(.evidence("D7")) func `do not validate counters of another boot`() throws {
    let disk = SimulatedDisk(seed: 9)
    let original = StoreFixture.on(disk, fixture().options)
    try original.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
    let fixture = StoreFixture.on(disk.crashed(.everything), original.options)
    let counters = try fixture.counters()
    counters.store(1000, CountersLayout.committed)
    var reading = fixture
    reading.options.isReadOnly = true
    try reading.run { reader throws in
      #expect(try reader.snapshot().keyspace("k")?.get(1) == [1])
    }
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    }
  }
}
