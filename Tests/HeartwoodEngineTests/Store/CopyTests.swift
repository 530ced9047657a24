import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests copies of a store that is in use.
@Suite("A copy of a store")
struct CopyTests {
  /// The contents of a store: for each keyspace, the encoded keys and the values in order.
  private struct Content: Equatable {
    var keyspaces: [String: [[[UInt8]]]] = [:]

    init(of snapshot: Snapshot) throws {
      for name in try snapshot.keyspaceNames {
        var rows: [[[UInt8]]] = []
        try snapshot.keyspace(name)?.forEach { key, value in
          rows.append([key.withUnsafeBytes { [UInt8]($0) }, value.withUnsafeBytes { [UInt8]($0) }])
          return true
        }
        keyspaces[name] = rows
      }
    }
  }

  private func change(_ store: Store, _ random: inout SeededGenerator, count: Int) throws {
    try store.write(durability: .normal) { transaction in
      for _ in 0..<count {
        let keyspace = try transaction.keyspace(["a", "b", "c"][random.below(3)])
        let key = Key(random.below(500), String(repeating: "k", count: random.below(60)))
        if random.isTrue(in256: 60) {
          try keyspace.delete(key)
        } else {
          let isLarge = random.isTrue(in256: 20)
          try keyspace.put(key, random.bytes(random.below(isLarge ? 30_000 : 400)))
        }
      }
      _ = try transaction.keyspace("empty")
    }
  }

  private func options(_ seed: UInt64) -> StoreOptions {
    var options = StoreOptions()
    options.pageByteCount = seed % 3 == 2 ? 16_384 : 4096
    options.segmentByteCount = 1 << 20
    return options
  }

  private func expectCopy(
    _ fixture: StoreFixture, at path: String, _ content: Content, of original: Store
  ) throws {
    #expect(try fixture.fileSystem.list(path + ".partial") == nil)
    let copy = try Store(at: path, options: fixture.options, fileSystem: fixture.fileSystem)
    let report = try copy.verify()
    #expect(report.findings == [])
    #expect(report.freePageCount == 0)
    #expect(report.logCommitCount == 0)
    #expect(copy.statistics.pageByteCount == original.statistics.pageByteCount)
    #expect(try Content(of: copy.snapshot()) == content)
    try copy.write { try $0.keyspace("a").put(Key(-1), [1]) }
    try StoreFixture.expectSound(copy)
    try copy.close()
  }

  @Test(.evidence("D16"), arguments: TestScale.seeds(quick: 2, all: 6))
  func `has the contents of the snapshot`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture =
      seed % 2 == 0 ? StoreFixture.inMemory(options(seed)) : try .onDisk(options(seed))
    try fixture.run { store in
      for _ in 0..<8 { try change(store, &random, count: 150) }
      let snapshot = try store.snapshot()
      let content = try Content(of: snapshot)
      for _ in 0..<3 { try change(store, &random, count: 50) }
      try store.checkpoint()
      let path = fixture.path + "-copy"
      var calls: [StoreProgress] = []
      try store.copy(snapshot, to: path) { calls.append($0) }
      #expect(calls.last?.fraction == 1)
      #expect(calls.map(\.completedPageCount) == calls.map(\.completedPageCount).sorted())
      #expect(calls.count > 20, "seed \(seed)")
      try expectCopy(fixture, at: path, content, of: store)
    }
  }

  @Test func `can be made while others write`() throws {
    let fixture = try StoreFixture.onDisk(options(0))
    try fixture.run { store in
      var random = SeededGenerator(seed: 1)
      for _ in 0..<10 { try change(store, &random, count: 150) }
      let snapshot = try store.snapshot()
      let content = try Content(of: snapshot)
      let isDone = Flag()
      let writer = Thread {
        var random = SeededGenerator(seed: 2)
        while !isDone.isSet { try? self.change(store, &random, count: 20) }
        isDone.hasEnded()
      }
      writer.start()
      try store.copy(snapshot, to: fixture.path + "-copy")
      isDone.set()
      isDone.waitForEnd()
      #expect(store.statistics.newestGeneration > snapshot.generation)
      try expectCopy(fixture, at: fixture.path + "-copy", content, of: store)
    }
  }

  @Test func `copies a large value in chunks`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      // A value of this length needs a two-level index.
      let value = [UInt8](repeating: 3, count: 4_200_000)
      try store.write { try $0.keyspace("large").put(1, value) }
      let snapshot = try store.snapshot()
      var calls = 0
      try store.copy(snapshot, to: fixture.path + "-copy") { _ in calls += 1 }
      #expect(calls > 90)
      let content = try Content(of: snapshot)
      try expectCopy(fixture, at: fixture.path + "-copy", content, of: store)
    }
  }

  @Test func `of a store without a commit is a store`() throws {
    let fixture = StoreFixture.inMemory()
    try fixture.run { store in
      try store.copy(try store.snapshot(), to: "/copy")
      let content = try Content(of: store.snapshot())
      try expectCopy(fixture, at: "/copy", content, of: store)
    }
  }

  @Test(.evidence("D16")) func `is complete if only the sync of its directory fails`() throws {
    let fileSystem = ObservedFileSystem(MemoryFileSystem())
    let fixture = StoreFixture.on(fileSystem)
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      var (count, failing) = (0, Int.max)
      fileSystem.onDirectorySync = { () throws(StorageError) in
        count += 1
        if count == failing { throw StorageError(.io, "This sync fails.", file: "/") }
      }
      let start = count
      try store.copy(store.snapshot(), to: "/first")
      failing = count + count - start
      let error = #expect(throws: StorageError.self) {
        try store.copy(store.snapshot(), to: "/second")
      }
      #expect(error?.message.contains("This sync fails. The new store is complete") == true)
      fileSystem.onDirectorySync = nil
      try expectCopy(fixture, at: "/second", try Content(of: store.snapshot()), of: store)
    }
  }

  @Test func `replaces nothing`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let snapshot = try store.snapshot()
      let file = fixture.path + "-file"
      _ = try fixture.fileSystem.open(file, .create)
      try fixture.fileSystem.createDirectory(fixture.path + "-directory")
      for path in [fixture.path, file, fixture.path + "-directory/", ""] {
        let error = #expect(throws: StorageError.self) { try store.copy(snapshot, to: path) }
        #expect(error?.kind == .invalidArgument, "\(path)")
      }
      let other = StoreFixture.inMemory()
      try other.run { stranger in
        let error = #expect(throws: StorageError.self) {
          try store.copy(try stranger.snapshot(), to: fixture.path + "-copy")
        }
        #expect(error?.kind == .foreignStore)
      }
    }
  }

  @Test func `removes the remains of an earlier attempt and nothing else`() throws {
    let fixture = try StoreFixture.onDisk()
    try fixture.run { store in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let snapshot = try store.snapshot()
      let path = fixture.path + "-copy"
      let partial = path + ".partial"
      // Create the partial copy that a killed process would leave behind.
      do {
        let left = try Store(
          at: partial, options: StoreOptions(), fileSystem: fixture.fileSystem)
        try left.write { try $0.keyspace("left").put(1, [1]) }
        let busy = #expect(throws: StorageError.self) { try store.copy(snapshot, to: path) }
        #expect(busy?.kind == .busy)
        try StoreFixture.expectSound(left)
      }
      let stranger = try #require(try fixture.fileSystem.open(partial + "/notes", .create))
      let refused = #expect(throws: StorageError.self) { try store.copy(snapshot, to: path) }
      #expect(refused?.kind == .invalidArgument)
      #expect(try fixture.fileSystem.list(partial)?.contains("pages") == true)
      try fixture.fileSystem.remove(stranger.path)
      try store.copy(snapshot, to: path)
      try expectCopy(fixture, at: path, try Content(of: snapshot), of: store)
    }
  }

  @Test(.mustEnd, .evidence("D16"))
  func `is rejected while another copy to the same path is in progress`() throws {
    let memory = MemoryFileSystem()
    let elsewhere = ObservedFileSystem(memory)
    let fixture = StoreFixture.on(memory, options(0))
    let store = try fixture.open()
    var random = SeededGenerator(seed: 4)
    try change(store, &random, count: 60)
    let snapshot = try store.snapshot()
    // The second copy finds no directory of another copy, and then waits for the first copy.
    let first = Order()
    let second = Order()
    elsewhere.onDemand = { demand, _ in
      guard case .directory = demand else { return }
      second.arrive()
      first.waitForArrival()
    }
    let other = try StoreFixture.on(elsewhere, options(0)).open()
    let copying = Aside { try other.copy(other.snapshot(), to: "/copy") }
    second.waitForArrival()
    try store.copy(snapshot, to: "/copy") { _ in
      first.arrive()
      copying.giveTime()
    }
    #expect(copying.outcome() == .busy)
    try expectCopy(fixture, at: "/copy", try Content(of: snapshot), of: store)
  }

  /// The other process has not opened its copy yet, so only the lock shows that it is at work.
  @Test(.evidence("D16")) func `waits for no process and removes none of its files`() throws {
    let fixture = StoreFixture.inMemory()
    try fixture.run { store in
      let files = fixture.fileSystem
      try files.createDirectory("/copy.partial")
      let locks = try #require(try files.open("/copy.partial/locks", .create))
      #expect(try locks.lock(.exclusive, LockByte.creation..<LockByte.creation + 1))
      _ = try files.open("/copy.partial/pages", .create)
      let error = #expect(throws: StorageError.self) {
        try store.copy(store.snapshot(), to: "/copy")
      }
      #expect(error?.kind == .busy)
      #expect(try files.list("/copy.partial")?.sorted() == ["locks", "pages"])
    }
  }

  /// A point in the order of two threads.
  private final class Order: @unchecked Sendable {
    // @unchecked because `lock` protects `hasArrived`.
    private let lock = Lock()
    private var hasArrived = false

    func arrive() {
      lock.withLock {
        hasArrived = true
        lock.wakeAll()
      }
    }

    func waitForArrival() { lock.withLock { while !hasArrived { lock.wait() } } }
  }

  @Test(.evidence("D16"), arguments: [false, true])
  func `is complete or absent after a power cut or an error`(isError: Bool) throws {
    func prepared() throws -> (disk: SimulatedDisk, store: Store, content: Content) {
      let disk = SimulatedDisk(seed: 4)
      let store = try StoreFixture.on(disk, options(0)).open()
      var random = SeededGenerator(seed: 4)
      try change(store, &random, count: 60)
      return (disk, store, try Content(of: store.snapshot()))
    }
    let (complete, original, content) = try prepared()
    let before = complete.callCount
    try original.copy(try original.snapshot(), to: "/copy")
    var absent = 0
    var present = 0
    // Only the last calls move the copy to its path, so a quick run begins with these calls.
    let step = TestScale.pick(quick: 3, all: 1)
    for call in stride(from: complete.callCount, to: before, by: -step) {
      let (disk, store, _) = try prepared()
      disk.faultPlan =
        isError ? .failure(.io, atCall: call) : .powerCut(atCall: call, leavesPart: call % 2 == 0)
      let error = #expect(throws: StorageError.self) {
        try store.copy(try store.snapshot(), to: "/copy")
      }
      #expect(error?.kind == .io)
      disk.faultPlan = FaultPlan()
      if isError {
        // A copy that failed leaves no data behind.
        let names = try disk.list("/copy.partial") ?? []
        #expect(names.filter { $0 != "locks" } == [], "call \(call)")
      }
      for seed in 0..<4 as Range<UInt64> {
        let crashed = disk.crashed(.seeded(seed, .uniform, [.unorderedNames]))
        let fixture = StoreFixture.on(crashed, options(0))
        guard try crashed.list("/copy") != nil else {
          absent += 1
          continue
        }
        present += 1
        let copy = try Store(at: "/copy", options: fixture.options, fileSystem: crashed)
        try StoreFixture.expectSound(copy)
        #expect(try Content(of: copy.snapshot()) == content, "call \(call), seed \(seed)")
      }
      // A second attempt succeeds despite the files that the first attempt left behind.
      let again = disk.crashed(.nothing)
      let reopened = try StoreFixture.on(again, options(0)).open()
      if try again.list("/copy") == nil {
        try reopened.copy(try reopened.snapshot(), to: "/copy")
      }
      try StoreFixture.expectSound(reopened)
    }
    #expect(absent > 0 && present > 0)
  }
}

/// A flag that one thread sets for another, and a flag that the other thread sets when it ends.
private final class Flag: @unchecked Sendable {
  // @unchecked because the flags are accessed only under `lock`.
  private let lock = Lock()
  private var value = false
  private var isEnded = false

  var isSet: Bool { lock.withLock { value } }

  func set() { lock.withLock { value = true } }

  func hasEnded() {
    lock.withLock {
      isEnded = true
      lock.wakeAll()
    }
  }

  func waitForEnd() {
    lock.acquire()
    while !isEnded { lock.wait() }
    lock.release()
  }
}
