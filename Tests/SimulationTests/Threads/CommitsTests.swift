import Dispatch
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests waiting for commits of this process and of other processes.
@Suite("The commits of a store")
struct CommitsTests {
  private static func put(_ number: Int, _ store: Store) throws -> Generation {
    try store.write { try $0.keyspace("rows").put(number, [1]) }
  }

  @Test(.evidence("N1")) func `are yielded once, and only the newest of several`() async throws {
    let fixture = StoreFixture.inMemory()
    let store = try fixture.open()
    _ = try Self.put(0, store)
    let commits = store.commits()
    var iterator = commits.makeAsyncIterator()
    for number in 1...3 {
      let generation = try Self.put(number, store)
      #expect(await iterator.next() == generation)
    }
    _ = try Self.put(4, store)
    let newest = try Self.put(5, store)
    #expect(await iterator.next() == newest)
    // A second iterator also starts from the time at which the sequence was created.
    var second = commits.makeAsyncIterator()
    #expect(await second.next() == newest)
    // An empty transaction creates no generation.
    try store.write { _ in }
    let last = Task {
      try await Task.sleep(for: .milliseconds(50))
      return try Self.put(6, store)
    }
    let found = await iterator.next()
    #expect(try await last.value == found)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(.evidence("N1")) func `end with the store`() async throws {
    let fixture = StoreFixture.inMemory()
    let store = try fixture.open()
    let other = try fixture.open()
    let commits = store.commits()
    let waiting = Task {
      var count = 0
      for await _ in commits { count += 1 }
      return count
    }
    try await Task.sleep(for: .milliseconds(50))
    try store.close()
    #expect(await waiting.value == 0)
    var iterator = commits.makeAsyncIterator()
    #expect(await iterator.next() == nil)
    var others = other.commits().makeAsyncIterator()
    let generation = try Self.put(1, other)
    #expect(await others.next() == generation)
    try StoreFixture.expectSound(other)
    try other.close()
  }

  @Test(.evidence("N1"), arguments: [0, 50])
  func `end with the waiting task`(milliseconds: Int) async throws {
    let store = try StoreFixture.inMemory().open()
    let commits = store.commits()
    let waiting = Task {
      var iterator = commits.makeAsyncIterator()
      return await iterator.next()
    }
    if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
    waiting.cancel()
    #expect(await waiting.value == nil)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  // MARK: Other processes

  @Test(.evidence("N1"), arguments: [false, true])
  func `of other processes reach an observer`(isReadOnly: Bool) async throws {
    let fixture = try StoreFixture.onDisk()
    let writer = try fixture.elsewhere().open()
    _ = try Self.put(0, writer)
    var listening = fixture
    listening.options.isReadOnly = isReadOnly
    let store = try listening.open()
    var iterator = store.commits().makeAsyncIterator()
    for pause in [0, 350] {
      try await Task.sleep(for: .milliseconds(pause))
      let made = Task { try Self.put(pause, writer) }
      let found = await iterator.next()
      #expect(try await made.value == found)
    }
    try StoreFixture.expectSound(store)
    try store.close()
    try writer.close()
  }

  /// Returns how long a thread waits for a commit of another process while it observes the store.
  ///
  /// When the observation begins, the other process has just found no observer. The other process
  /// caches this result for a tenth of a second.
  ///
  /// - Parameter pause: The time between the start of the observation and the commit, in
  ///   milliseconds.
  private static func waitingTime(
    _ store: Store, _ writer: Store, pause: UInt64
  ) throws -> UInt64 {
    let files = store.files
    let signal = CommitSignal(files)
    SystemThread.sleep(milliseconds: 120)
    _ = try put(0, writer)
    signal.addObserver()
    defer { signal.removeObserver() }
    SystemThread.sleep(milliseconds: pause)
    let delivered = DispatchSemaphore(value: 0)
    signal.wait(
      signal.makeWaitID(), for: ObjectIdentifier(store), after: files.counters.committed,
      isOver: { false }
    ) { _ in delivered.signal() }
    _ = try put(1, writer)
    let start = SystemThread.monotonicMilliseconds
    #expect(delivered.wait(timeout: .now() + 60) == .success)
    return SystemThread.monotonicMilliseconds - start
  }

  /// The commit is made early or late after the start of the observation.
  ///
  /// At an early commit, the other process cannot know of the observation yet. At a late commit,
  /// the observer polls only once a second.
  @Test(.waiting, .evidence("N2"), arguments: [20, 350])
  func `of other processes wake an observer`(pause: UInt64) throws {
    let fixture = try StoreFixture.onDisk()
    let writer = try fixture.elsewhere().open()
    _ = try Self.put(0, writer)
    try fixture.run { store in
      // A busy machine may be too slow in some of the rounds.
      let times = try (0..<6).map { _ in try Self.waitingTime(store, writer, pause: pause) }
      #expect(times.contains { $0 < 300 }, "\(times)")
    }
    try writer.close()
  }

  @Test(.evidence("N2")) func `cost nothing without an observer`() async throws {
    let counting = CountingFileSystem(PosixFileSystem())
    let fixture = try StoreFixture.onDisk().with(counting)
    let store = try fixture.open()
    /// Returns how often the given number of commits touches files.
    func touches(_ count: Int) throws -> Int {
      let before = counting.counts.touches
      for number in 0..<count { _ = try Self.put(number, store) }
      return counting.counts.touches - before
    }
    #expect(try touches(200) == 0)
    // An observer in the same process is notified without any use of the file system.
    var iterator: Commits.Iterator? = store.commits().makeAsyncIterator()
    #expect(try touches(3) == 0)
    #expect(await iterator?.next() == store.statistics.newestGeneration)
    let other = try fixture.elsewhere().open()
    iterator = other.commits().makeAsyncIterator()
    try await Task.sleep(for: .milliseconds(150))
    #expect(try touches(9) == 9)
    iterator = nil
    try await Task.sleep(for: .milliseconds(150))
    #expect(try touches(9) == 0)
    try other.close()
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(.waiting, .evidence("N3")) func `reach an observer without a signal, with a delay`() throws
  {
    let fixture = try StoreFixture.onDisk()
    // An `ObservedFileSystem` does not wake observers, so the writer seems to die after each
    // commit, before it sends a signal.
    let writer = try fixture.with(ObservedFileSystem(fixture.fileSystem)).open()
    _ = try Self.put(0, writer)
    try fixture.run { store in
      let times = try (0..<3).map { _ in try Self.waitingTime(store, writer, pause: 300) }
      #expect(times.contains { $0 < 1500 }, "\(times)")
    }
    try writer.close()
  }

  @Test(.evidence("N1")) func `reach a reader that was alone before`() async throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ = try Self.put(0, $0) }
    // Simulate a restart of the machine, which leaves no usable counters.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    var reading = fixture
    reading.options.isReadOnly = true
    let store = try reading.open()
    var iterator = store.commits().makeAsyncIterator()
    let writer = try fixture.elsewhere().open()
    for number in 1...3 {
      let generation = try Self.put(number, writer)
      var found = await iterator.next()
      // The writer may have created a generation when it opened the store.
      while let seen = found, seen < generation { found = await iterator.next() }
      #expect(found == generation)
    }
    try StoreFixture.expectSound(store)
    try store.close()
    try writer.close()
  }
}
