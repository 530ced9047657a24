import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the list of processes that hold a store, with one process that plays all roles.
///
/// The other processes do not exist. Their locks and rows are set through a separate opening of the
/// lock file.
@Suite("The holders of a store")
struct HolderTests {
  private static let stranger: Int32 = 4_000_001

  /// Returns a fixture for a store with background maintenance, which is the default.
  private func fixture(
    _ fileSystem: any FileSystem = MemoryFileSystem(), _ name: String? = nil
  ) -> StoreFixture {
    var fixture = StoreFixture.on(fileSystem)
    fixture.options.maintenance = .background
    fixture.options.name = name
    return fixture
  }

  /// Returns the locks as another process sees them.
  private func others(_ fixture: StoreFixture) throws -> StoreLocks {
    StoreLocks(
      file: try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write)))
  }

  private func rowBytes(_ fixture: StoreFixture, _ index: Int) throws -> [UInt8] {
    let bytes = try fixture.bytes(of: "holders")
    return Array(bytes.dropFirst(index * HolderLayout.rowByteCount).prefix(256))
  }

  private func name(_ fixture: StoreFixture, _ index: Int, of store: Store) throws -> String? {
    try rowBytes(fixture, index).withBytes {
      HolderRow.decode($0, seed: store.files.identity.seed)?.name
    }
  }

  /// Waits until the maintenance thread has made the condition true.
  ///
  /// - Returns: `false` after a timeout.
  private func becomesTrue(_ condition: () throws -> Bool) throws -> Bool {
    for _ in 0..<3000 {
      if try condition() { return true }
      SystemThread.sleep(milliseconds: 10)
    }
    return false
  }

  // MARK: Rows

  @Test(.evidence("I15")) func `have a row each, which the next holder reuses`() throws {
    let fixture = fixture(MemoryFileSystem(), "first")
    let first = try fixture.open()
    var elsewhere = fixture.elsewhere()
    elsewhere.options.name = "second"
    let second = try elsewhere.open()
    #expect(try name(fixture, 0, of: first) == "first")
    #expect(try name(fixture, 1, of: first) == "second")
    let others = try others(fixture)
    #expect(try others.isLockedElsewhere(byte: LockByte.holderRow))
    try first.close()
    #expect(try !others.isLockedElsewhere(byte: LockByte.holderRow))
    #expect(try others.isLockedElsewhere(byte: LockByte.holderRow + 1))
    var third = fixture.elsewhere()
    third.options.name = "third"
    try third.run { _ throws in
      #expect(try name(fixture, 0, of: second) == "third")
      #expect(try name(fixture, 1, of: second) == "second")
    }
    try StoreFixture.expectSound(second)
    try second.close()
  }

  @Test(.evidence("I15")) func `are listed with their names, or by PID without one`() throws {
    let fixture = fixture(MemoryFileSystem(), "own")
    try fixture.run { store in
      let others = try others(fixture)
      #expect(try store.holders().map(\.name) == ["own"])
      #expect(others.set(.open(Self.stranger, isReadOnly: false)))
      #expect(others.set(.open(Self.stranger + 1, isReadOnly: true)))
      let file = HolderFile(log: store.files.log, locks: others)
      let row = HolderRow(process: Self.stranger, opened: 1, name: "importer")
      #expect(file.enter(row) == LockByte.holderRow + 1)
      var found = try store.holders()
      #expect(found.map(\.isThisProcess) == [true, false, false])
      #expect(found.map(\.name) == ["own", "importer", nil])
      #expect(found.map(\.processID) == [ProcessIdentity.own, Self.stranger, Self.stranger + 1])
      #expect(found.map(\.isReadOnly) == [false, false, true])
      #expect(try #require(found[1].age) > .seconds(1_000_000_000))
      #expect(found[2].age == nil)
      // After a process has ended, its row no longer names a process, even if another process has
      // reused the PID.
      try others.unlock(byte: LockByte.holderRow + 1)
      found = try store.holders()
      #expect(found.map(\.name) == ["own", nil, nil])
      others.remove(.open(Self.stranger, isReadOnly: false))
      #expect(try store.holders().count == 2)
    }
  }

  @Test(.evidence("E7")) func `may be more than there are rows`() throws {
    let fixture = fixture()
    var stores: [Store] = []
    let count = TestScale.pick(quick: 258, all: 300)
    for _ in 0..<count { stores.append(try fixture.elsewhere().open()) }
    #expect(try fixture.bytes(of: "holders").count == 256 * HolderLayout.rowByteCount)
    #expect(try stores[count - 1].holders().count == 1)
    try stores[count - 1].write { try $0.keyspace("k").put(1, [1]) }
    try StoreFixture.expectSound(stores[0])
    for store in stores { try store.close() }
    try fixture.run { _ in }
  }

  // MARK: Unusable files

  @Test(.evidence("E7"), arguments: TestScale.seeds(quick: 15, all: 40))
  func `are found by PID when the file is damaged`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let fixture = fixture()
    try fixture.run { _ in }
    let length = generator.below(4) == 0 ? generator.below(300) : generator.below(70_000)
    try fixture.write((0..<length).map { _ in UInt8(generator.below(256)) }, to: "holders")
    try fixture.run { store in
      let others = try others(fixture)
      #expect(others.set(.open(Self.stranger, isReadOnly: false)))
      #expect(try others.tryLock(.exclusive, byte: LockByte.holderRow + 1))
      #expect(try store.holders().map(\.name).last == .some(nil), "seed \(seed)")
      try store.write { try $0.keyspace("k").put(1, [1]) }
      try fixture.fileSystem.remove(fixture.path(of: "holders"))
      #expect(try store.holders().count == 2, "seed \(seed)")
    }
  }

  /// Every call on the file may fail, both when the store is opened and when its holders are
  /// queried.
  @Test(.evidence("E7")) func `do not matter to a store that cannot write the file`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
    try fixture.fileSystem.remove(fixture.path(of: "holders"))
    try fixture.fileSystem.createDirectory(fixture.path(of: "holders"))
    let others = try others(fixture)
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("k")?.count() == 1)
      #expect(try store.holders().map(\.isThisProcess) == [true])
      // If a row could not be written, its byte is not locked.
      #expect(try !others.isLockedElsewhere(byte: LockByte.holderRow))
      #expect(others.set(.open(Self.stranger, isReadOnly: false)))
      #expect(try store.holders().count == 2)
    }
  }

  @Test(.evidence("E6"), .evidence("E7")) func `have no row when they are read-only`() throws {
    let fixture = fixture()
    try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
    let before = try fixture.bytes(of: "holders")
    let others = try others(fixture)
    var reading = fixture
    reading.options.isReadOnly = true
    try reading.run { store throws in
      #expect(try !others.isLockedElsewhere(byte: LockByte.holderRow))
      #expect(others.isSetElsewhere(.open(ProcessIdentity.own, isReadOnly: true)))
      #expect(try store.holders().map(\.isReadOnly) == [true])
    }
    #expect(!others.isSetElsewhere(.open(ProcessIdentity.own, isReadOnly: true)))
    #expect(try fixture.bytes(of: "holders") == before)
  }

  @Test(.evidence("E7")) func `are not invented from a lock over the complete file`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let others = try others(fixture)
      #expect(try others.file.lock(.shared, LockByte.holderLock..<LockByte.holderLock << 1))
      #expect(try store.holders().count == 1)
      let held = try store.snapshot()
      #expect(try store.liveGenerations().first?.holders.map(\.isThisProcess) == [true])
      withExtendedLifetime(held) {}
    }
  }

  // MARK: Held generations

  @Test(.evidence("I15")) func `are listed for each generation`() throws {
    let fixture = fixture()
    try fixture.run { store in
      let others = try others(fixture)
      let first = try store.write { try $0.keyspace("k").put(1, [1]) }
      try others.lockLive(first.frame)
      let held = try store.snapshot()
      try store.write { try $0.keyspace("k").put(2, [2]) }
      for index in 0..<3 {
        #expect(others.set(.holding(first.frame, Self.stranger + Int32(index))))
      }
      // These locks are on adjacent bytes, but their owners do not hold the generation.
      #expect(others.set(.holding(first.frame + 1, Self.stranger + 7)))
      #expect(others.set(.open(Self.stranger + 8, isReadOnly: true)))
      let live = try #require(try store.liveGenerations().first { $0.generation == first })
      #expect(
        live.holders.map(\.processID)
          == [ProcessIdentity.own] + (0..<3).map { Self.stranger + $0 })
      withExtendedLifetime(held) {}
    }
  }

  @Test(.waiting, .evidence("I15")) func `publish what they hold after a while, and release it`()
    throws
  {
    let fixture = fixture()
    try fixture.run { store in
      let others = try others(fixture)
      let generation = try store.write { try $0.keyspace("k").put(1, [1]) }
      let holderLock = HolderLock.holding(generation.frame, ProcessIdentity.own)
      var held: Snapshot? = try store.snapshot()
      #expect(!others.isSetElsewhere(holderLock))
      #expect(try becomesTrue { others.isSetElsewhere(holderLock) })
      try store.write { try $0.keyspace("k").put(2, [2]) }
      #expect(others.isSetElsewhere(holderLock))
      withExtendedLifetime(held) {}
      held = nil
      #expect(try becomesTrue { !others.isSetElsewhere(holderLock) })
    }
  }

  @Test(.evidence("I15")) func `lock generations that they hold at two checks, up to a limit`()
    throws
  {
    let fixture = fixture()
    try fixture.run { _ in }
    let (own, others) = (try others(fixture), try others(fixture))
    let entry = HolderEntry(
      HolderRow(process: Self.stranger, opened: 1, name: ""), isReadOnly: true, locks: own)
    func holderLocks() -> Set<HolderLock> { Set(others.holderLocksElsewhere()) }
    func expected(_ generations: some Sequence<UInt64>) -> Set<HolderLock> {
      Set(generations.map { .holding($0, Self.stranger) })
    }
    #expect(entry.refresh([3, 4, 1 << 50]))
    #expect(holderLocks().isEmpty)
    #expect(entry.refresh([4, 1 << 50, 7]))
    #expect(holderLocks() == expected([4, 1 << 50]))
    #expect(entry.refresh([7, 8]))
    #expect(holderLocks() == expected([7]))
    #expect(entry.refresh(Set(10..<1000)))
    #expect(holderLocks().isEmpty)
    #expect(entry.refresh(Set(10..<1000)))
    #expect(holderLocks() == expected(10..<10 + UInt64(Limits.maxHeldGenerationLockCount)))
    #expect(!entry.refresh([]))
    #expect(holderLocks().isEmpty)
  }

  // MARK: The writer

  @Test(.evidence("I16")) func `are named in a timeout while they are the writer, and only then`()
    throws
  {
    var fixture = fixture()
    fixture.options.busyTimeout = .milliseconds(30)
    try fixture.run { store in
      let others = try others(fixture)
      let counters = store.files.counters
      func refusal() -> String {
        let error = #expect(throws: StorageError.self) {
          try store.write { try $0.keyspace("k").put(1, [1]) }
        }
        #expect(error?.kind == .busy)
        return error?.message ?? ""
      }
      try store.write { _ in
        let claim = try #require(WriterClaim(word: counters.load(CountersLayout.writer)))
        #expect(claim.process == ProcessIdentity.own)
      }
      #expect(counters.load(CountersLayout.writer) == 0)
      #expect(try others.tryLock(.exclusive, byte: LockByte.writer))
      #expect(refusal().contains("for longer than `busyTimeout`. "))
      let now = SystemThread.monotonicMilliseconds
      let claim = WriterClaim(process: Self.stranger, since: now > 12_500 ? now - 12_500 : 0)
      counters.store(claim.word, CountersLayout.writer)
      // The counter contains a PID, but no process with this PID has the store open.
      #expect(refusal().contains("for longer than `busyTimeout`. "))
      #expect(others.set(.open(Self.stranger, isReadOnly: false)))
      let prefix = ": process \(Self.stranger)"
      #expect(refusal().contains(prefix + " has been writing for "))
      let file = HolderFile(log: store.files.log, locks: others)
      _ = file.enter(HolderRow(process: Self.stranger, opened: 1, name: "im\u{1B}porter"))
      #expect(refusal().contains(prefix + " (im\u{FFFD}porter) has been writing for "))
      if now > 12_500 { #expect(refusal().contains(" has been writing for 12 s. ")) }
      counters.store(0, CountersLayout.writer)
      #expect(refusal().contains("for longer than `busyTimeout`. "))
      try others.unlock(byte: LockByte.writer)
    }
  }

  @Test(.evidence("I16")) func `include this process when it waits for itself`() throws {
    var fixture = fixture()
    fixture.options.busyTimeout = .milliseconds(30)
    try fixture.run { store in
      try store.write { _ in
        let aside = Aside {
          let error = #expect(throws: StorageError.self) { try store.write { _ in } }
          #expect(error?.message.contains(": this process has been writing for ") == true)
        }
        #expect(aside.outcome() == nil)
      }
    }
  }

  @Test func `are encoded as a PID and a time in one word`() {
    for process: Int32 in [1, 4711, 1 << 22 - 1] {
      for since: UInt64 in [0, 1, 1 << 42 - 1] {
        let claim = WriterClaim(process: process, since: since)
        #expect(WriterClaim(word: claim.word) == claim)
      }
    }
    #expect(WriterClaim(word: 0) == nil)
    let claim = WriterClaim(process: 1, since: 1000)
    #expect(claim.age(at: 900) == "0 ms")
    #expect(claim.age(at: 1999) == "999 ms")
    #expect(claim.age(at: 4500) == "3 s")
  }

  @Test func `are not recorded if their PIDs are out of range`() throws {
    let fixture = fixture()
    try fixture.run { store throws in
      let locks = try others(fixture)
      for process in [-1, 1 << 22] as [Int32] {
        let lock = HolderLock.open(process, isReadOnly: false)
        #expect(lock.byte == nil)
        #expect(!locks.set(lock))
        locks.remove(lock)
        #expect(!store.files.locks.isSetElsewhere(lock))
      }
    }
  }
}
