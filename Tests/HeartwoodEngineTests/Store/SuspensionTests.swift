import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Tests a store that is suspended and later resumed.
///
/// A suspended store must release everything that it holds.
@Suite("A suspended store")
struct SuspensionTests {
  private static let accesses: [StoreOptions.Access] = [.mapped, .buffered]
  private static let settings: [StoreOptions] = accesses.flatMap { access in
    [StoreOptions.MaintenanceMode.inline, .background].map { maintenance in
      var options = StoreOptions()
      options.access = access
      options.maintenance = maintenance
      options.busyTimeout = .seconds(2)
      return options
    }
  }

  @discardableResult
  private static func put(_ value: UInt8, _ store: Store) throws -> Generation {
    try store.write { transaction in
      let rows = try transaction.keyspace("rows")
      for number in 0..<300 { try rows.put(number, [UInt8](repeating: value, count: 100)) }
    }
  }

  private static func value(_ store: Store) throws -> UInt8? {
    try store.snapshot().keyspace("rows")?.get(7)?.first
  }

  /// Returns whether any byte of the store's lock file is locked by any owner.
  private static func isLocked(_ fixture: StoreFixture) throws -> Bool {
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .read))
    return try file.lockedByOthers(in: 0..<(1 << 62)) != nil
  }

  private static func kind<R>(_ body: () throws -> R) -> StorageError.Kind? {
    do { _ = try body() } catch { return (error as? StorageError)?.kind }
    return nil
  }

  @Test(.evidence("S1"), arguments: settings)
  func `holds no lock, and its commits are durable`(options: StoreOptions) throws {
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      let first = try store.snapshot()
      try Self.put(1, store)
      let second = try store.snapshot()
      try store.keep(second.generation, as: "kept")
      let third = try store.write(durability: .normal) { try $0.keyspace("rows").put(0, [3]) }
      _ = store.commits().makeAsyncIterator()
      #expect(try Self.isLocked(fixture))
      try store.suspend()
      #expect(try !Self.isLocked(fixture))
      #expect(store.files.counters.durable == third.frame)
      try store.suspend()
      try store.resume()
      try store.resume()
      #expect(try Self.isLocked(fixture))
      #expect(try store.snapshot(at: second.generation).keyspace("rows")?.get(7)?.first == 1)
      withExtendedLifetime((first, second)) {}
    }
    #expect(try !Self.isLocked(fixture))
  }

  @Test(.evidence("S2"), arguments: settings)
  func `rejects reads of earlier snapshots`(options: StoreOptions) throws {
    try StoreFixture.onDisk(options).run { store in
      try Self.put(1, store)
      let snapshot = try store.snapshot()
      let rows = try #require(try snapshot.keyspace("rows"))
      let cursor = rows.cursor()
      #expect(try cursor.moveToFirst())
      func expectEnded() {
        let calls: [() throws -> Any?] = [
          { try rows.get(7) }, { try rows.count() }, { try rows.forEach { _, _ in true } },
          { try cursor.seek(Key(3)) }, { try rows.cursor().moveToFirst() },
          { try cursor.moveToNext() },
          { try cursor.value }, { try snapshot.keyspace("rows") }, { try snapshot.keyspaceNames },
        ]
        for (number, call) in calls.enumerated() {
          #expect(Self.kind(call) == .generationExpired, "call \(number)")
        }
        #expect(!cursor.isValid && cursor.key == nil)
      }
      try store.suspend()
      expectEnded()
      let calls: [() throws -> Any?] = [
        { try store.snapshot() }, { try store.snapshot(at: snapshot.generation) },
        { try Self.put(2, store) }, { try store.checkpoint() }, { try store.verify() },
        { try store.keep(snapshot.generation, as: "a") }, { try store.release("a") },
        { try store.compact() }, { try store.liveGenerations() },
        { try store.holders() }, { try store.namedGenerations() },
      ]
      for (number, call) in calls.enumerated() {
        #expect(Self.kind(call) == .suspended, "call \(number)")
      }
      try store.resume()
      expectEnded()
      // Releasing the ended snapshot must not affect a later snapshot of the same generation.
      var later: Snapshot? = try store.snapshot(at: snapshot.generation)
      #expect(try later?.keyspace("rows")?.get(7)?.first == 1)
      let live = try store.liveGenerations().map(\.generation)
      #expect(live.contains(snapshot.generation))
      later = nil
      withExtendedLifetime(snapshot) {}
    }
  }

  @Test(.evidence("S2")) func `releases the generations of its snapshots`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      try Self.put(1, store)
      var old: Snapshot? = try store.snapshot()
      let generation = try #require(old).generation
      try store.suspend()
      try store.resume()
      let new = try store.snapshot(at: generation)
      try Self.put(2, store)
      #expect(old != nil)
      old = nil
      // The new snapshot still holds the lock on the generation.
      let other = try fixture.elsewhere().open()
      try other.checkpoint()
      #expect(try other.snapshot(at: generation).keyspace("rows")?.get(7)?.first == 1)
      #expect(try new.keyspace("rows")?.get(7)?.first == 1)
      try other.close()
    }
  }

  @Test(.evidence("S3"), arguments: settings, [false, true])
  func `resumes with the commits of other processes`(options: StoreOptions, staysAlone: Bool) throws
  {
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store in
      try Self.put(1, store)
      try store.checkpoint()
      try Self.put(2, store)
      #expect(try Self.value(store) == 2)
      let held = try store.snapshot()
      let other = try fixture.elsewhere().open()
      if staysAlone { try other.close() }
      try store.suspend()
      // The process that commits during the suspension either opens the store only now, or has had
      // it open all along.
      let writer = staysAlone ? try fixture.elsewhere().open() : other
      for value in 3..<9 {
        try Self.put(UInt8(value), writer)
        let result = try writer.checkpoint()
        #expect(result.blockingGeneration == nil)
      }
      if staysAlone { try writer.close() }
      try store.resume()
      #expect(try Self.value(store) == 8)
      #expect(Self.kind { try store.snapshot(at: held.generation) } == .generationExpired)
      for value in 9..<12 {
        try Self.put(UInt8(value), store)
        #expect(try Self.value(store) == UInt8(value))
        if !staysAlone { #expect(try Self.value(writer) == UInt8(value)) }
      }
      try store.checkpoint()
      if !staysAlone { try writer.close() }
    }
  }

  @Test(.evidence("S3")) func `does not resume if its files were replaced`() throws {
    let fixture = try StoreFixture.onDisk()
    let store = try fixture.open()
    try Self.put(1, store)
    try store.suspend()
    for name in try fixture.names() {
      try fixture.fileSystem.remove(fixture.path(of: name))
    }
    try fixture.elsewhere().run { try Self.put(9, $0) }
    for _ in 0..<2 { #expect(Self.kind { try store.resume() } == .foreignStore) }
    #expect(Self.kind { try store.snapshot() } == .suspended)
    try store.close()
    let found = try fixture.run { try Self.value($0) }
    #expect(found == 9)
    #expect(try !Self.isLocked(fixture))
  }

  @Test(.evidence("I6"), .evidence("U4"), arguments: settings, [false, true])
  func `stays closed if it is closed while it waits to be resumed`(
    options: StoreOptions, isReadOnly: Bool
  ) throws {
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { _ = try Self.put(1, $0) }
    var suspended = fixture
    suspended.options.isReadOnly = isReadOnly
    let store = try suspended.open()
    try store.suspend()
    // Another process is opening the store.
    let other = try #require(try PosixFileSystem().open(fixture.path(of: "locks"), .write))
    let bytes = LockByte.presenceReadWrite..<LockByte.presenceReadOnly + 1
    #expect(try other.lock(.exclusive, bytes))
    let result = Mutex<StorageError.Kind?>(nil)
    let thread = SystemThread {
      let kind = Self.kind { try store.resume() }
      result.withLock { $0 = kind }
    }
    SystemThread.sleep(milliseconds: 100)
    try store.close()
    #expect(try other.lock(.none, bytes))
    thread?.join()
    #expect(result.withLock { $0 } == .closed)
    #expect(try !Self.isLocked(fixture))
  }

  @Test(.evidence("S1")) func `waits for its transactions before it suspends`() throws {
    let fixture = try StoreFixture.onDisk()
    var hurried = fixture
    hurried.options.busyTimeout = .milliseconds(50)
    let store = try hurried.open()
    try Self.put(1, store)
    let (isIn, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let thread = SystemThread {
      _ = try? store.write { transaction in
        try transaction.keyspace("rows").put(7, [2])
        isIn.signal()
        isDone.wait()
      }
    }
    isIn.wait()
    #expect(Self.kind { try store.suspend() } == .busy)
    #expect(try Self.value(store) == 1)
    isDone.signal()
    thread?.join()
    try store.suspend()
    try store.resume()
    #expect(try Self.value(store) == 2)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(.evidence("S1")) func `may be open for reading only, and may be closed`() throws {
    let fixture = try StoreFixture.onDisk()
    let writer = try fixture.elsewhere().open()
    try Self.put(1, writer)
    var reading = fixture
    reading.options.isReadOnly = true
    let store = try reading.open()
    let before = try store.snapshot()
    try store.suspend()
    try Self.put(2, writer)
    #expect(try writer.checkpoint().blockingGeneration == nil)
    try store.resume()
    #expect(try Self.value(store) == 2)
    #expect(Self.kind { try before.keyspaceNames } == .generationExpired)
    try store.suspend()
    try store.close()
    try StoreFixture.expectSound(writer)
    try writer.close()
    #expect(try !Self.isLocked(fixture))
    // This process is the only one, and is read-only, so the presence lock is its only lock.
    let alone = try reading.open()
    try alone.suspend()
    #expect(try !Self.isLocked(fixture))
    try alone.resume()
    #expect(try Self.value(alone) == 2)
    try alone.close()
  }

  /// The read-only opening shares the state of the writable opening, including the presence lock.
  @Test(.evidence("S3")) func `is attached again when any of its openings resumes it`() throws {
    let fixture = try StoreFixture.onDisk()
    var reading = fixture
    reading.options.isReadOnly = true
    try fixture.run { store in
      try Self.put(1, store)
      let reader = try reading.open()
      try reader.suspend()
      #expect(try !Self.isLocked(fixture))
      try reader.resume()
      let file = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
      let locks = StoreLocks(file: file)
      #expect(try locks.isLockedElsewhere(byte: LockByte.presenceReadWrite))
      #expect(try !locks.isLockedElsewhere(byte: LockByte.presenceReadOnly))
      try Self.put(2, store)
      #expect(try Self.value(reader) == 2)
      try reader.close()
    }
  }

  /// A private reader checks for a writer whenever it pins a generation, and reopens the store
  /// after a commit.
  @Test(.evidence("S1"), .evidence("S3"), arguments: [false, true])
  func `stays suspended when the first writer opens the store`(stays: Bool) async throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ = try Self.put(1, $0) }
    // Simulate a restart of the machine.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    var reading = fixture
    reading.options.isReadOnly = true
    let store = try reading.open()
    let commits = store.commits()
    let waiting = Task {
      var iterator = commits.makeAsyncIterator()
      return await iterator.next()
    }
    try await Task.sleep(for: .milliseconds(50))
    try store.suspend()
    #expect(try !Self.isLocked(fixture))
    let writer = try fixture.elsewhere().open()
    try Self.put(2, writer)
    try writer.checkpoint()
    if !stays { try writer.close() }
    // The observer of commits polls regularly, but polling must not resume the store.
    try await Task.sleep(for: .milliseconds(600))
    #expect(Self.kind { try store.snapshot() } == .suspended)
    if !stays { #expect(try !Self.isLocked(fixture)) }
    try store.resume()
    #expect(try Self.value(store) == 2)
    #expect(await waiting.value != nil)
    try store.close()
    if stays { try writer.close() }
    try fixture.run { _ = try Self.value($0) }
  }

  @Test(.evidence("S2")) func `continues to notify observers of commits after it resumes`()
    async throws
  {
    let fixture = try StoreFixture.onDisk()
    let store = try fixture.open()
    try Self.put(1, store)
    let writer = try fixture.elsewhere().open()
    var iterator = store.commits().makeAsyncIterator()
    let made = Task {
      try store.suspend()
      let generation = try Self.put(2, writer)
      try await Task.sleep(for: .milliseconds(50))
      try store.resume()
      return generation
    }
    let found = await iterator.next()
    #expect(try await made.value == found)
    try writer.close()
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(arguments: [false, true])
  func `frees all its memory, like any store`(isClosed: Bool) throws {
    weak var fileSystem: MemoryFileSystem?
    weak var core: StoreFiles?
    try {
      let memory = MemoryFileSystem()
      fileSystem = memory
      let store = try StoreFixture.on(memory).open()
      core = store.files
      try Self.put(1, store)
      let snapshot = try store.snapshot()
      try store.suspend()
      try store.resume()
      try Self.put(2, store)
      try StoreFixture.expectSound(store)
      if isClosed { try store.close() }
      withExtendedLifetime(snapshot) {}
    }()
    #expect(core == nil)
    #expect(fileSystem == nil)
  }
}
