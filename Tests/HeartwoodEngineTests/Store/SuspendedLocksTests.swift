import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which locks a process holds while a store is suspended, and for which locks `suspend()`
/// waits.
@Suite("The locks of a suspended store", .waiting)
struct SuspendedLocksTests {
  private static func reading(_ fixture: StoreFixture) -> StoreFixture {
    var reading = fixture
    reading.options.isReadOnly = true
    return reading
  }

  private static func other(_ fixture: StoreFixture) throws -> any File {
    try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
  }

  /// Returns whether any byte of the store's lock file is locked by any owner.
  private static func isLocked(_ fixture: StoreFixture) throws -> Bool {
    try other(fixture).lockedByOthers(in: 0..<(1 << 62)) != nil
  }

  // MARK: Several openings

  @Test(.evidence("S1"), .evidence("S2"), .evidence("S3"), arguments: [false, true])
  func `are released by all openings of the process`(suspendsReader: Bool) throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ = try RowSteps.put(1, $0) }
    // The reader is opened first, so that the two openings do not share their state.
    let reader = try Self.reading(fixture).open()
    let writer = try fixture.open()
    let held = [try reader.snapshot(), try writer.snapshot()]
    let (first, second) = suspendsReader ? (reader, writer) : (writer, reader)
    try first.suspend()
    #expect(try !Self.isLocked(fixture))
    #expect(RowSteps.kind { try second.snapshot() } == .suspended)
    let kinds = held.map { snapshot in RowSteps.kind { try snapshot.keyspaceNames } }
    #expect(kinds == [.generationExpired, .generationExpired])
    try second.resume()
    try RowSteps.put(2, writer)
    #expect(try [RowSteps.value(reader), RowSteps.value(writer)] == [2, 2])
    let file = try Self.other(fixture)
    #expect(try StoreLocks(file: file).isLockedElsewhere(byte: LockByte.presenceReadOnly))
    #expect(try StoreLocks(file: file).isLockedElsewhere(byte: LockByte.presenceReadWrite))
    try StoreFixture.expectSound(writer)
    try reader.close()
    try writer.close()
  }

  /// A reader without shared counters reopens the store as soon as a process writes.
  ///
  /// A snapshot of its former state, like a snapshot of a closed store, keeps its locks.
  @Test(.evidence("S1"), .evidence("S2"), arguments: [false, true])
  func `are released by snapshots of a former opening`(isClosed: Bool) throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ = try RowSteps.put(1, $0) }
    if !isClosed { try fixture.fileSystem.remove(fixture.path(of: "counters")) }
    let former = isClosed ? try fixture.open() : try Self.reading(fixture).open()
    let held = try former.snapshot()
    if isClosed { try former.close() }
    try fixture.run { store in
      try RowSteps.put(2, store)
      if !isClosed { #expect(try RowSteps.value(former) == 2) }
      #expect(try held.keyspace("rows")?.get(7) == [1])
      try store.suspend()
      #expect(try !Self.isLocked(fixture))
      #expect(RowSteps.kind { try held.keyspaceNames } == .generationExpired)
      try store.resume()
      #expect(try RowSteps.value(isClosed ? store : former) == 2)
    }
    try former.close()
    #expect(try !Self.isLocked(fixture))
  }

  // MARK: Waiting

  @Test(
    .mustEnd, .evidence("S4"),
    arguments: [LockByte.maintenance, LockByte.writer, LockByte.keep, LockByte.allocator])
  func `are released even if another process holds a lock`(byte: UInt64) throws {
    var options = StoreOptions()
    options.busyTimeout = .milliseconds(50)
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try RowSteps.put(1, store)
      let other = try Self.other(fixture)
      #expect(try other.lock(.exclusive, byte..<byte + 1))
      try store.suspend()
      #expect(try other.lock(.none, byte..<byte + 1))
      #expect(try !Self.isLocked(fixture))
      try store.resume()
      try RowSteps.put(2, store)
    }
  }

  @Test(.mustEnd, .evidence("S4"))
  func `remain held if another process syncs the log for too long`() throws {
    var options = StoreOptions()
    options.busyTimeout = .milliseconds(50)
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      let snapshot = try store.snapshot()
      try RowSteps.put(1, store, .normal)
      let other = try Self.other(fixture)
      #expect(try other.lock(.exclusive, LockByte.sync..<LockByte.sync + 1))
      #expect(RowSteps.kind { try store.suspend() } == .busy)
      #expect(try snapshot.keyspaceNames.isEmpty)
      #expect(try RowSteps.value(store) == 1)
      #expect(try other.lock(.none, LockByte.sync..<LockByte.sync + 1))
      try store.suspend()
      #expect(try !Self.isLocked(fixture))
      try store.resume()
      try store.checkpoint()
    }
  }

  @Test(.mustEnd, .evidence("S4"), arguments: [false, true])
  func `are released while a maintenance run waits for another process`(isExplicit: Bool) throws {
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    options.maintenance = .background
    options.checkpointLogByteCount = isExplicit ? 0 : 1
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      let other = try Self.other(fixture)
      let byte = LockByte.maintenance..<LockByte.maintenance + 1
      #expect(try other.lock(.exclusive, byte))
      try RowSteps.put(1, store)
      let aside = Aside { if isExplicit { try store.checkpoint() } }
      while store.files.waits.oldest?.byte != LockByte.maintenance {
        SystemThread.sleep(milliseconds: 1)
      }
      let start = ContinuousClock.now
      try store.suspend()
      #expect(ContinuousClock.now - start < .seconds(30))
      #expect(aside.outcome() == (isExplicit ? .suspended : nil))
      #expect(try other.lock(.none, byte))
      #expect(try !Self.isLocked(fixture))
      try store.resume()
      #expect(try store.checkpoint().blockingGeneration == nil)
    }
  }

  @Test(.mustEnd, .evidence("S4"))
  func `are released while a transaction waits for another process`() throws {
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      let other = try Self.other(fixture)
      #expect(try other.lock(.exclusive, LockByte.writer..<LockByte.writer + 1))
      let aside = Aside { try RowSteps.put(1, store) }
      aside.giveTime()
      try store.suspend()
      #expect(aside.outcome() == .suspended)
      #expect(try other.lock(.none, LockByte.writer..<LockByte.writer + 1))
      #expect(try !Self.isLocked(fixture))
      try store.resume()
      try RowSteps.put(2, store)
    }
  }

  @Test(.mustEnd, .evidence("S4"))
  func `are released with a timeout of zero if nothing is in progress`() throws {
    var options = StoreOptions()
    options.busyTimeout = .zero
    options.maintenance = .background
    options.checkpointLogByteCount = 0
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try RowSteps.put(1, store)
      for _ in 0..<3 {
        try store.suspend()
        #expect(try !Self.isLocked(fixture))
        try store.resume()
      }
    }
  }

  @Test(.mustEnd, .evidence("S4"), .evidence("U5"))
  func `are released while a transaction on another store is in progress`() throws {
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    let (fixture, another) = (try StoreFixture.onDisk(options), try StoreFixture.onDisk(options))
    try fixture.run { _ in }
    // The reader is opened first, so that the two openings do not share their state.
    let reader = try Self.reading(fixture).open()
    let writer = try fixture.open()
    try another.run { other in
      var suspending: Aside?
      try writer.write { transaction in
        try transaction.keyspace("rows").put(7, [1])
        let aside = Aside { try writer.suspend() }
        aside.giveTime()
        let start = ContinuousClock.now
        try other.suspend()
        #expect(try !Self.isLocked(another))
        try other.resume()
        // This call has no effect, because the store is not suspended.
        try reader.resume()
        #expect(ContinuousClock.now - start < .seconds(30))
        suspending = aside
      }
      #expect(suspending?.outcome() == nil)
    }
    #expect(try !Self.isLocked(fixture))
    try reader.close()
    try writer.close()
  }

  // MARK: Calls during a suspension

  /// The suspension waits for another call on the list of named generations.
  ///
  /// The commit of another process is not durable, so the call syncs the log.
  @Test(.mustEnd, .evidence("S1"), .evidence("S2"))
  func `are not taken by a call that syncs the log`() throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    let fixture = StoreFixture.on(files, options)
    try fixture.run { store in
      let first = try RowSteps.put(1, store)
      let other = try fixture.elsewhere().open()
      let (isIn, canContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      files.onWrite = { path, _ throws(StorageError) in
        guard path.hasSuffix("/kept.new") else { return }
        isIn.signal()
        canContinue.wait()
        canContinue.signal()
      }
      let naming = Aside { try store.keep(first, as: "first") }
      isIn.wait()
      let suspending = Aside { try store.suspend() }
      suspending.giveTime()
      let second = try RowSteps.put(2, other, .normal)
      let syncing = Aside { try store.keep(second, as: "second") }
      syncing.giveTime()
      canContinue.signal()
      let outcomes = [naming, suspending, syncing].map { $0.outcome() }
      #expect(outcomes == [nil, nil, .suspended])
      files.onWrite = nil
      #expect(try fixture.counters().durable == first.frame)
      try other.close()
      #expect(try !Self.isLocked(fixture))
      try store.resume()
    }
  }

  /// The reader has no shared counters, so each snapshot checks for a newer state.
  @Test(.mustEnd, .evidence("S1"), .evidence("S2"), arguments: [false, true])
  func `are not taken by a snapshot that reopens the store`(hasChanged: Bool) throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    let fixture = StoreFixture.on(files, options)
    try fixture.run { _ = try RowSteps.put(1, $0) }
    try files.remove(fixture.path(of: "counters"))
    let reader = try Self.reading(fixture).open()
    let (isIn, canContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    files.onLock = { _, range in
      guard range.lowerBound == LockByte.maintenance else { return }
      files.onLock = nil
      isIn.signal()
      canContinue.wait()
    }
    // The suspension waits for a verification.
    let verifying = Aside { _ = try reader.verify() }
    isIn.wait()
    let suspending = Aside { try reader.suspend() }
    suspending.giveTime()
    let other = hasChanged ? try fixture.elsewhere().open() : nil
    if let other { try RowSteps.put(2, other) }
    #expect(RowSteps.kind { try reader.snapshot() } == (hasChanged ? .suspended : nil))
    canContinue.signal()
    _ = verifying.outcome()
    #expect(suspending.outcome() == nil)
    try other?.close()
    #expect(try !Self.isLocked(fixture))
    try reader.close()
  }

  // MARK: Interrupting checkpoints

  /// The run is in the middle of writing pages to the page file when another opening suspends the
  /// store.
  @Test(.mustEnd, .evidence("S1"), .evidence("S4"), arguments: [false, true])
  func `are released before the end of a checkpoint`(isClosing: Bool) throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    var options = StoreOptions()
    options.busyTimeout = .seconds(60)
    options.checkpointLogByteCount = 0
    let fixture = StoreFixture.on(files, options)
    try fixture.run { _ in }
    let reader = try Self.reading(fixture).open()
    let store = try fixture.open()
    // A run writes at most 256 pages at a time.
    try store.write { transaction in
      let rows = try transaction.keyspace("rows")
      for number in 0..<600 { try rows.put(number, [UInt8](repeating: 1, count: 4000)) }
    }
    let counters = try fixture.counters()
    let checkpointed = counters.checkpointed
    let (isIn, canContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    files.onWrite = { path, _ throws(StorageError) in
      guard path.hasSuffix("/pages") else { return }
      isIn.signal()
      canContinue.wait()
      canContinue.signal()
    }
    let aside = Aside { if isClosing { try store.close() } else { try store.checkpoint() } }
    isIn.wait()
    let suspending = Aside { try reader.suspend() }
    suspending.giveTime()
    #expect(!suspending.isDone)
    canContinue.signal()
    #expect(suspending.outcome() == nil)
    #expect(aside.outcome() == (isClosing ? nil : .suspended))
    files.onWrite = nil
    #expect(try !Self.isLocked(fixture))
    #expect(counters.checkpointed == checkpointed)
    try reader.resume()
    #expect(reader.statistics.lastCheckpointError == nil)
    try store.close()
    try reader.close()
    let count = try fixture.run { try $0.snapshot().keyspace("rows")?.count() }
    #expect(count == 600)
  }

  // MARK: Resuming

  @Test(.evidence("S3")) func `allow other processes to start a lineage`() throws {
    let fixture = try StoreFixture.onDisk()
    func lineages() throws -> [EndedLineage] {
      let pages = try #require(try fixture.fileSystem.open(fixture.path(of: "pages"), .read))
      return try HeaderSlot.requireNewest(try HeaderSlot.readBoth(pages)).lineages
    }
    try fixture.run { store in
      try RowSteps.put(1, store)
      try store.suspend()
      // The process that opens the store after a failed sync starts a lineage.
      try fixture.counters().setFailed()
      try fixture.elsewhere().run { other in
        #expect(other.recovery.startedLineage)
        try RowSteps.put(2, other)
      }
      let known = try lineages()
      try store.resume()
      try RowSteps.put(3, store)
      try store.checkpoint()
      #expect(try lineages() == known)
    }
  }

  @Test(.evidence("S3")) func `are not taken again if the files belong to another store`() throws {
    let (fixture, another) = (try StoreFixture.onDisk(), try StoreFixture.onDisk())
    let store = try fixture.open()
    try RowSteps.put(1, store)
    try another.run { _ = try RowSteps.put(9, $0) }
    try store.suspend()
    try fixture.write(another.bytes(of: "pages"), to: "pages")
    #expect(RowSteps.kind { try store.resume() } == .foreignStore)
    #expect(try !Self.isLocked(fixture))
    try store.close()
  }
}
