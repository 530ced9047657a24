import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the costs of operations in units that do not vary between runs: pages, syncs, system calls
/// and retains.
@Suite("The cost of an operation", .serialized)
struct CostTests {
  private let directory: ScratchDirectory
  private let calls: CountingFileSystem

  init() throws {
    directory = try ScratchDirectory()
    calls = CountingFileSystem(PosixFileSystem())
  }

  private func open(_ access: StoreOptions.Access = .mapped) throws -> Store {
    var options = StoreOptions()
    options.access = access
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    return try Store(at: directory.path(of: "store"), options: options, fileSystem: calls)
  }

  private func load(_ store: Store, _ count: Int64) throws {
    try store.write { transaction in
      try transaction.keyspace("rows").load(
        sorted: (0..<count).lazy.map { (Key($0), [UInt8](repeating: UInt8($0 & 0xFF), count: 100)) }
      )
    }
  }

  @Test(.evidence("I9"), arguments: [false, true])
  func `of a point read is no system call and no retain`(isCheckpointed: Bool) throws {
    let store = try open()
    try load(store, 20_000)
    if isCheckpointed { try store.checkpoint() }
    let snapshot = try store.snapshot()
    let rows = try #require(try snapshot.keyspace("rows"))
    var sum = 0
    func read() throws {
      for key in stride(from: Int64(0), to: 20_000, by: 7) {
        try rows.withValue(key) { sum += Int($0.unsafeLoad(as: UInt8.self)) }
      }
    }
    try read()
    let before = calls.counts
    try read()
    #expect(calls.counts - before == CallCounts())
    #expect(sum > 0)
    #expect(try store.verify().findings == [])
  }

  #if !DEBUG
    @Test(.spawning, .evidence("I9"))
    func `of a point read is no retain and no allocation`() async {
      await #expect(processExitsWith: .success) {
        let directory = try ScratchDirectory()
        var options = StoreOptions()
        // Run maintenance on this thread, because only this thread is measured.
        options.maintenance = .inline
        let store = try Store(
          at: directory.path(of: "store"), options: options, fileSystem: PosixFileSystem())
        try store.write { transaction in
          try transaction.keyspace("rows").load(
            sorted: (0..<20_000).lazy.map { (Key($0), [UInt8](repeating: 7, count: 100)) })
        }
        let rows = try #require(try store.snapshot().keyspace("rows"))
        var sum = 0
        for _ in 0..<2 {
          let counts = try RetainProbe.measure {
            for key in stride(from: 0, to: 20_000, by: 7) {
              try rows.withValue(key) { sum += Int($0.unsafeLoad(as: UInt8.self)) }
            }
          }
          // Check only the second round, because the first read of each page also verifies and
          // counts the page.
          if sum > 7 * 3000, let counts { precondition(counts == RetainProbe.Counts()) }
        }
        precondition(sum == 7 * 2858 * 2)
        _ = try store.verify()
      }
    }
  #endif

  @Test(.evidence("I9"))
  func `of reading the current generation again is no system call`() throws {
    let store = try open()
    try load(store, 100)
    let held = try store.snapshot()
    let before = calls.counts
    for _ in 0..<100 {
      try store.read { _ = try $0.keyspace("rows")?.get(Int64(7)) }
    }
    let after = calls.counts
    // The first read also verifies pages. With mapped reading, the verification needs no system
    // calls.
    #expect(after - before == CallCounts())
    withExtendedLifetime(held) {}
    #expect(try store.verify().findings == [])
  }

  /// Returns the calls made by `body`, except queries for observers, whose number depends on the
  /// clock.
  private func calls(_ body: () throws -> Void) rethrows -> CallCounts {
    let start = SystemThread.monotonicMilliseconds
    let before = calls.counts
    try body()
    var counts = calls.counts - before
    let questionCount = Int(SystemThread.monotonicMilliseconds - start) / 100 + 1
    counts.locks -= min(counts.locks % 2, questionCount)
    return counts
  }

  @Test(.evidence("I9"))
  func `in system calls is the same while another process has the store open`() throws {
    let store = try open()
    try load(store, 100)
    var options = StoreOptions()
    options.maintenance = .inline
    let other = try Store(
      at: directory.path(of: "store"), options: options, fileSystem: OtherProcess(PosixFileSystem())
    )
    func put(_ number: Int64, _ store: Store, _ durability: StoreOptions.Durability) throws {
      try store.write(durability: durability) { try $0.keyspace("rows").put(number, [1]) }
    }
    let othersPin = try other.snapshot()
    // There are three cases: the newest generation is already pinned, this process has just
    // committed it, or the other process has just committed it.
    var held = try store.snapshot()
    #expect(try calls { for _ in 0..<100 { _ = try store.snapshot() } } == CallCounts())
    var expected = CallCounts()
    (expected.locks, expected.opens) = (2, 0)
    for number in Int64(0)..<5 {
      try put(number, store, .normal)
      #expect(try calls { held = try store.snapshot() } == expected)
    }
    for number in Int64(0)..<5 {
      try put(number, other, .normal)
      let found = try calls { held = try store.snapshot() }
      #expect(found.locks == 2)
      // Only the header of the commit is read.
      #expect(found.reads == 1 && found.opens + found.others == 0)
      #expect(found.writes + found.syncs + found.maps == 0)
    }
    // Wait until the directory has been unchanged for a while, so that a commit need not compare
    // the file names again.
    SystemThread.sleep(milliseconds: 30)
    try put(0, store, .full)
    expected = CallCounts()
    (expected.writes, expected.bytesWritten, expected.locks) = (1, 2 * 4096, 2)
    expected.stamps = 1
    for number in Int64(0)..<5 {
      #expect(try calls { try put(number, store, .normal) } == expected)
    }
    (expected.syncs, expected.locks) = (1, 4)
    for number in Int64(0)..<5 {
      #expect(try calls { try put(number, store, .full) } == expected)
    }
    withExtendedLifetime((held, othersPin)) {}
    #expect(try store.verify().findings == [])
    try other.close()
  }

  @Test func `of a point read is one page for each level of the tree`() throws {
    let store = try open(.buffered)
    try load(store, 100_000)
    let rows = try #require(try store.snapshot().keyspace("rows"))
    let before = store.statistics.cacheLookupCount
    for key in stride(from: Int64(0), to: 100_000, by: 1000) { _ = try rows.get(key) }
    // Each of the 100 reads looks up the root, one of 11 branches and one of 2,900 leaves.
    #expect(store.statistics.cacheLookupCount - before == 300)
    #expect(try store.verify().findings == [])
  }

  @Test func `of an overwrite is one leaf, one header and one sync`() throws {
    let store = try open()
    try load(store, 10_000)
    try store.write { try $0.keyspace("rows").put(Int64(1), [1]) }
    let calls = self.calls.counts
    let activity = store.statistics.activity
    for key in Int64(0)..<20 {
      try store.write { try $0.keyspace("rows").put(key * 400, [2]) }
    }
    let done = store.statistics.activity
    #expect(done.commitCount - activity.commitCount == 20)
    #expect(done.loggedPageCount - activity.loggedPageCount == 20)
    #expect(done.loggedByteCount - activity.loggedByteCount == 20 * 2 * 4096)
    #expect(done.logSyncCount - activity.logSyncCount == 20)
    let after = self.calls.counts
    #expect(after.writes - calls.writes == 20)
    #expect(after.bytesWritten - calls.bytesWritten == 20 * 2 * 4096)
    #expect(after.syncs - calls.syncs == 20)
    #expect(after.directorySyncCount == calls.directorySyncCount)
    #expect(try store.verify().findings == [])
  }

  @Test func `of an insert is one additional catalog page`() throws {
    let store = try open()
    try store.write { transaction in
      let rows = try transaction.keyspace("rows")
      for key in Int64(0)..<20 { try rows.put(key * 100, [1]) }
    }
    let before = store.statistics.activity.loggedPageCount
    try store.write { try $0.keyspace("rows").put(Int64(55), [1]) }
    #expect(store.statistics.activity.loggedPageCount - before == 2)
    #expect(try store.verify().findings == [])
  }

  @Test func `of a commit without durability is no sync`() throws {
    let store = try open()
    try load(store, 1000)
    let before = calls.counts
    for key in Int64(0)..<50 {
      try store.write(durability: .normal) { try $0.keyspace("rows").put(key, [2]) }
    }
    #expect(calls.counts.syncs == before.syncs)
    #expect(calls.counts.directorySyncCount == before.directorySyncCount)
    #expect(try store.verify().findings == [])
  }

  /// Punching holes for dead headers would take 25 % more calls, or 3 % more if only new segments
  /// are punched.
  @Test(.evidence("K3"))
  func `of commits beside a snapshot is at most 1 % more calls than without it`() throws {
    func calls(isPinned: Bool) throws -> (count: Int, syncs: Int) {
      let calls = CountingFileSystem(MemoryFileSystem())
      var options = StoreOptions()
      (options.maintenance, options.durability) = (.inline, .normal)
      options.segmentByteCount = 256 << 10
      (options.checkpointLogByteCount, options.reclaimLogByteCount) = (1 << 20, 768 << 10)
      let fixture = StoreFixture.inMemory(options).with(calls)
      var (count, syncs) = (0, 0)
      try fixture.run { store in
        try load(store, 1000)
        try store.checkpoint()
        let snapshot = isPinned ? try store.snapshot() : nil
        var generator = SeededGenerator(seed: 1)
        let before = calls.counts
        for _ in 0..<2000 {
          try store.write { try $0.keyspace("rows").put(Int64(generator.below(1000)), [2]) }
        }
        let made = calls.counts - before
        count = made.writes + made.locks + made.stamps + made.opens + made.reads + made.others
        syncs = made.syncs + made.directorySyncCount
        #expect(store.statistics.logByteCount < 3 << 20)
        withExtendedLifetime(snapshot) {}
      }
      return (count, syncs)
    }
    let (free, pinned) = (try calls(isPinned: false), try calls(isPinned: true))
    #expect(pinned.count <= free.count * 101 / 100, "\(pinned) beside \(free)")
    #expect(pinned.syncs <= free.syncs * 3 / 2, "\(pinned) beside \(free)")
  }

  @Test func `of a checkpoint is two syncs of the page file and one of the directory`() throws {
    let store = try open()
    try load(store, 1000)
    let before = store.statistics.activity
    try store.checkpoint()
    let after = store.statistics.activity
    #expect(after.pageFileSyncCount - before.pageFileSyncCount == 2)
    #expect(after.logSyncCount == before.logSyncCount)
    #expect(after.directorySyncCount - before.directorySyncCount == 1)
    #expect(
      after.checkpointedPageCount - before.checkpointedPageCount == store.statistics.pageCount)
    #expect(try store.verify().findings == [])
  }
}
