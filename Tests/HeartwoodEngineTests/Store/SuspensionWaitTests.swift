import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Tests suspensions and resumptions that have to wait for other calls.
///
/// A hook of the file system holds up the other call.
@Suite("A suspension that has to wait", .waiting)
struct SuspensionWaitTests {
  private let memory = MemoryFileSystem()
  private let files: ObservedFileSystem

  init() { files = ObservedFileSystem(memory) }

  private func fixture(
    busyTimeout: Duration = .seconds(60), isReadOnly: Bool = false
  ) -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.busyTimeout = busyTimeout
    options.isReadOnly = isReadOnly
    return .on(files, options)
  }

  /// A point at which a hook stops a thread until the test lets the thread continue.
  private struct Barrier: Sendable {
    let isReached = DispatchSemaphore(value: 0)
    let canContinue = DispatchSemaphore(value: 0)

    func stop() {
      isReached.signal()
      canContinue.wait()
      canContinue.signal()
    }
  }

  /// Opens the lock file as another process would, without invoking the hooks.
  private func otherLocks() throws -> any File {
    try #require(try memory.open("/store/locks", .write))
  }

  private func expectUnlocked(_ location: SourceLocation = #_sourceLocation) throws {
    let locks = try otherLocks()
    #expect(try locks.lockedByOthers(in: 0..<1 << 62) == nil, sourceLocation: location)
  }

  // MARK: Calls of other threads

  /// The calls that are in progress when a suspension begins.
  enum Call: CaseIterable, Sendable {
    case checkpoint, naming, sync
    /// The end of a sync, when the commit is already durable.
    case endOfSync
  }

  private func hold(_ call: Call, at barrier: Barrier) {
    switch call {
    case .checkpoint, .naming:
      let name = call == .checkpoint ? "/pages" : "/kept.new"
      files.onWrite = { path, _ throws(StorageError) in
        if path.hasSuffix(name) { barrier.stop() }
      }
    case .sync:
      files.onSync = { path in
        if path.contains("/wal-") { barrier.stop() }
      }
    case .endOfSync:
      files.onLock = { kind, range in
        guard case .none = kind, range.lowerBound == LockByte.sync else { return }
        barrier.stop()
      }
    }
  }

  private static func make(_ call: Call, _ store: Store, _ generation: Generation) throws {
    switch call {
    case .checkpoint: try store.checkpoint()
    case .naming: try store.keep(generation, as: "first")
    case .sync, .endOfSync: try RowSteps.put(2, store)
    }
  }

  @Test(.mustEnd, .evidence("S1"), .evidence("S4"), arguments: Call.allCases)
  func `fails if another call takes too long, and succeeds after the call`(call: Call) throws {
    let store = try fixture().open()
    let hurried = try fixture(busyTimeout: .milliseconds(50)).open()
    let first = try RowSteps.put(1, store)
    let barrier = Barrier()
    hold(call, at: barrier)
    let calling = Aside { try Self.make(call, store, first) }
    barrier.isReached.wait()
    #expect(RowSteps.kind { try hurried.suspend() } == .busy)
    #expect(try RowSteps.value(store) == (call == .endOfSync ? 2 : 1))
    let suspending = Aside { try store.suspend() }
    suspending.giveTime()
    #expect(!suspending.isDone)
    barrier.canContinue.signal()
    #expect(suspending.outcome() == nil)
    // The suspension may have interrupted the checkpoint.
    let outcome = calling.outcome()
    #expect(outcome == nil || call == .checkpoint && outcome == .suspended)
    try expectUnlocked()
    let counters = try fixture().counters()
    #expect(counters.durable == counters.appended)
    try store.resume()
    #expect(try RowSteps.value(store) == (call == .sync || call == .endOfSync ? 2 : 1))
    try StoreFixture.expectSound(store)
    try hurried.close()
    try store.close()
  }

  /// The suspension interrupts the run, but the thread ends the run only after the deadline.
  @Test(.mustEnd, .evidence("S4"))
  func `fails if a background run takes too long, and the run is repeated`() throws {
    var fixture = fixture()
    fixture.options.maintenance = .background
    fixture.options.checkpointLogByteCount = 1
    let store = try fixture.open()
    let hurried = try self.fixture(busyTimeout: .seconds(1)).open()
    let (writing, ending) = (Barrier(), Barrier())
    files.onWrite = { path, _ throws(StorageError) in
      if path.hasSuffix("/pages") { writing.stop() }
    }
    // A run writes at most 256 pages at a time.
    let generation = try store.write { transaction in
      let rows = try transaction.keyspace("rows")
      for number in 0..<600 { try rows.put(number, [UInt8](repeating: 1, count: 4000)) }
    }
    writing.isReached.wait()
    files.onLock = { kind, range in
      guard case .none = kind, range.lowerBound == LockByte.maintenance else { return }
      ending.stop()
    }
    let suspending = Aside { try hurried.suspend() }
    suspending.giveTime()
    writing.canContinue.signal()
    #expect(suspending.outcome() == .busy)
    #expect(try RowSteps.value(store) == 1)
    ending.canContinue.signal()
    while store.files.counters.checkpointed < generation.frame {
      SystemThread.sleep(milliseconds: 1)
    }
    try store.suspend()
    try expectUnlocked()
    try store.resume()
    try StoreFixture.expectSound(store)
    try hurried.close()
    try store.close()
  }

  // MARK: Other suspensions and openings

  /// Begins a suspension on another thread, and returns once the suspension has been requested.
  ///
  /// The request interrupts a checkpoint that is waiting for another process.
  private func beginSuspending(_ store: Store) throws -> Aside {
    let locks = try otherLocks()
    let byte = LockByte.maintenance..<LockByte.maintenance + 1
    #expect(try locks.lock(.exclusive, byte))
    let checkpointing = Aside { try store.checkpoint() }
    while store.files.waits.oldest?.byte != LockByte.maintenance {
      SystemThread.sleep(milliseconds: 1)
    }
    let suspending = Aside { try store.suspend() }
    #expect(checkpointing.outcome() == .suspended)
    #expect(try locks.lock(.none, byte))
    return suspending
  }

  @Test(.mustEnd, .evidence("S1"), .evidence("S4"))
  func `makes later suspensions and resumptions wait`() throws {
    let store = try fixture().open()
    let hurried = try fixture(busyTimeout: .milliseconds(50)).open()
    let barrier = Barrier()
    let writing = Aside {
      try store.write { transaction in
        try transaction.keyspace("rows").put(7, [2])
        barrier.stop()
      }
    }
    barrier.isReached.wait()
    let suspending = try beginSuspending(store)
    #expect(RowSteps.kind { try hurried.suspend() } == .busy)
    #expect(RowSteps.kind { try hurried.resume() } == .busy)
    let resuming = Aside { try store.resume() }
    resuming.giveTime()
    #expect(!resuming.isDone)
    barrier.canContinue.signal()
    let outcomes = [writing, suspending, resuming].map { $0.outcome() }
    #expect(outcomes == [nil, nil, nil])
    #expect(try RowSteps.value(store) == 2)
    try StoreFixture.expectSound(store)
    try hurried.close()
    try store.close()
  }

  @Test(.mustEnd, .evidence("S1"), .evidence("S4"))
  func `waits for a thread that is opening the store, and suspends that opening too`() throws {
    try fixture().run { _ = try RowSteps.put(1, $0) }
    let reader = try fixture(isReadOnly: true).open()
    let hurried = try fixture(busyTimeout: .milliseconds(50), isReadOnly: true).open()
    let barrier = Barrier()
    files.onRead = { path, _ throws(StorageError) in
      guard path.hasSuffix("/pages") else { return }
      files.onRead = nil
      barrier.stop()
    }
    let opened = Mutex<Store?>(nil)
    let opening = Aside {
      let store = try fixture().open()
      opened.withLock { $0 = store }
    }
    barrier.isReached.wait()
    #expect(RowSteps.kind { try hurried.suspend() } == .busy)
    #expect(try RowSteps.value(reader) == 1)
    let suspending = Aside { try reader.suspend() }
    suspending.giveTime()
    #expect(!suspending.isDone)
    barrier.canContinue.signal()
    #expect(opening.outcome() == nil)
    #expect(suspending.outcome() == nil)
    try expectUnlocked()
    let found = opened.withLock { $0 }
    let writer = try #require(found)
    #expect(RowSteps.kind { try writer.snapshot() } == .suspended)
    try reader.resume()
    try RowSteps.put(2, writer)
    #expect(try RowSteps.value(reader) == 2)
    try StoreFixture.expectSound(writer)
    try hurried.close()
    try reader.close()
    try writer.close()
  }

  // MARK: Other processes

  @Test(.evidence("S1"))
  func `syncs the log after another process has ended its sync`() throws {
    let store = try fixture().open()
    try RowSteps.put(1, store, .normal)
    let locks = try otherLocks()
    let byte = LockByte.sync..<LockByte.sync + 1
    #expect(try locks.lock(.exclusive, byte))
    var attemptCount = 0
    files.onLock = { _, range in
      guard range == byte else { return }
      attemptCount += 1
      if attemptCount == 4 { _ = try? locks.lock(.none, byte) }
    }
    try store.suspend()
    files.onLock = nil
    #expect(attemptCount > 4)
    try expectUnlocked()
    let counters = try fixture().counters()
    #expect(counters.durable == counters.appended)
    try store.resume()
    #expect(try RowSteps.value(store) == 1)
    try store.close()
  }

  /// Two openings are resumed in an arbitrary order, so each of them fails once.
  @Test(.evidence("S3"))
  func `continues without locks if one of the openings cannot be resumed`() throws {
    try fixture().run { _ = try RowSteps.put(1, $0) }
    // The reader is opened first, so that the two openings do not share their state.
    let reader = try fixture(busyTimeout: .milliseconds(50), isReadOnly: true).open()
    let writer = try fixture(busyTimeout: .milliseconds(50)).open()
    try writer.suspend()
    let locks = try otherLocks()
    for byte in [LockByte.presenceReadWrite, LockByte.presenceReadOnly] {
      #expect(try locks.lock(.exclusive, byte..<byte + 1))
      #expect(RowSteps.kind { try writer.resume() } == .busy)
      #expect(try locks.lockedByOthers(in: 0..<1 << 62) == nil)
      #expect(try locks.lock(.none, byte..<byte + 1))
    }
    let pages = try #require(try memory.open("/store/pages", .write))
    let bytes = try pages.allBytes()
    let damaged = [UInt8](repeating: 0, count: HeaderSlotLayout.byteCount)
    for offset in HeaderSlotLayout.offsets { try pages.write(damaged, at: offset) }
    #expect(RowSteps.kind { try writer.resume() } == .corrupt)
    try expectUnlocked()
    for store in [reader, writer] { #expect(RowSteps.kind { try store.snapshot() } == .suspended) }
    try pages.write(bytes, at: 0)
    try reader.resume()
    try RowSteps.put(2, writer)
    #expect(try RowSteps.value(reader) == 2)
    try StoreFixture.expectSound(writer)
    try reader.close()
    try writer.close()
  }
}
