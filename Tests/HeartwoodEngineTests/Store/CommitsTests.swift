import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Waiting for commits, of this process and of others.
@Suite("The commits of a store")
struct CommitsTests {
  /// The next commit, and how many milliseconds it took to come.
  private static func timed(
    _ iterator: inout Commits.Iterator
  ) async -> (generation: Generation?, milliseconds: UInt64) {
    let start = SystemThread.monotonicMilliseconds
    let generation = await iterator.next()
    return (generation, SystemThread.monotonicMilliseconds - start)
  }

  private static func put(_ number: Int, _ store: Store) throws -> Generation {
    try store.write { try $0.keyspace("rows").put(number, [1]) }
  }

  @Test(.evidence("N1")) func `are given once, the newest alone`() async throws {
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
    // Another one begins where the sequence was made.
    var second = commits.makeAsyncIterator()
    #expect(await second.next() == newest)
    // Nothing was changed, so there is nothing new to wait for.
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
  func `end with the task that waits`(milliseconds: Int) async throws {
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

  @Test(.evidence("N2"), arguments: [false, true])
  func `of others wake who listens`(readOnly: Bool) async throws {
    let fixture = try StoreFixture.onDisk()
    let writer = try fixture.elsewhere().open()
    _ = try Self.put(0, writer)
    var listening = fixture
    listening.options.readOnly = readOnly
    let store = try listening.open()
    var iterator = store.commits().makeAsyncIterator()
    // At once, when nobody can know yet that somebody listens; and when he does not look himself.
    for pause in [0, 0, 350, 350, 0] {
      try await Task.sleep(for: .milliseconds(pause))
      let made = Task {
        try await Task.sleep(for: .milliseconds(20))
        return try Self.put(pause, writer)
      }
      let found = await Self.timed(&iterator)
      #expect(try await made.value == found.generation)
      #expect(found.milliseconds < 800)
    }
    try StoreFixture.expectSound(store)
    try store.close()
    try writer.close()
  }

  @Test(.evidence("N2")) func `cost nothing while nobody listens`() async throws {
    let counting = CountingFileSystem(PosixFileSystem())
    let fixture = try StoreFixture.onDisk().with(counting)
    let store = try fixture.open()
    /// How often files are touched by so many commits.
    func touches(_ count: Int) throws -> Int {
      let before = counting.counts.touches
      for number in 0..<count { _ = try Self.put(number, store) }
      return counting.counts.touches - before
    }
    #expect(try touches(200) == 0)
    // Who listens here is told without the file system.
    var iterator: Commits.Iterator? = store.commits().makeAsyncIterator()
    #expect(try touches(3) == 0)
    #expect(await iterator?.next() == store.statistics.newest)
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

  @Test(.evidence("N3")) func `come without a signal too, a moment later`() async throws {
    let fixture = try StoreFixture.onDisk()
    // Another process, and one that dies between each commit and its signal.
    let writer = try fixture.with(ObservedFileSystem(fixture.fileSystem)).open()
    _ = try Self.put(0, writer)
    let store = try fixture.open()
    var iterator = store.commits().makeAsyncIterator()
    try await Task.sleep(for: .milliseconds(300))
    let made = Task {
      try await Task.sleep(for: .milliseconds(20))
      return try Self.put(1, writer)
    }
    let found = await Self.timed(&iterator)
    #expect(try await made.value == found.generation)
    #expect(found.milliseconds < 2500)
    // Else it was a signal that came.
    #expect(found.milliseconds > 100)
    try StoreFixture.expectSound(store)
    try store.close()
    try writer.close()
  }

  @Test(.evidence("N1")) func `are seen by who read alone before`() async throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { _ = try Self.put(0, $0) }
    // As after a restart of the machine: nobody has made the words usable.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    var reading = fixture
    reading.options.readOnly = true
    let store = try reading.open()
    var iterator = store.commits().makeAsyncIterator()
    let writer = try fixture.elsewhere().open()
    for number in 1...3 {
      let generation = try Self.put(number, writer)
      var found = await iterator.next()
      // The opening may have made a generation of its own.
      while let seen = found, seen < generation { found = await iterator.next() }
      #expect(found == generation)
    }
    try StoreFixture.expectSound(store)
    try store.close()
    try writer.close()
  }
}
