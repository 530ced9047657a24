import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Synchronization
import Testing

/// Tests the maintenance that a store performs on its own thread.
@Suite("The maintenance of a store")
struct MaintenanceScheduleTests {
  private func write(_ store: Store, _ rounds: Range<Int>) throws {
    for round in rounds {
      try store.write(durability: .normal) { transaction in
        let rows = try transaction.keyspace("rows")
        for key in 0..<40 { try rows.put(key, [UInt8](repeating: UInt8(round & 0xFF), count: 300)) }
      }
    }
  }

  /// Waits until the condition holds.
  ///
  /// - Returns: `false` after a timeout that is long enough even for a busy machine.
  private func waits(until condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<2000 {
      if try condition() { return true }
      Thread.sleep(forTimeInterval: 0.01)
    }
    return false
  }

  private func options() -> StoreOptions {
    var options = StoreOptions()
    options.segmentByteCount = 128 << 10
    options.checkpointLogByteCount = 512 << 10
    return options
  }

  private func open(_ directory: ScratchDirectory) throws -> Store {
    try Store(at: directory.path(of: "store"), options: options())
  }

  @Test func `checkpoints the log as it grows`() throws {
    let directory = try ScratchDirectory()
    let store = try open(directory)
    try write(store, 0..<200)
    #expect(waits { store.statistics.activity.checkpointCount > 0 })
    #expect(waits { store.statistics.activity.deletedSegmentCount > 0 })
    #expect(try store.verify().findings == [])
    try store.close()
  }

  /// A commit that makes the log too long is already complete, so only the next write waits.
  @Test func `delays the next write while the log is too long`() throws {
    let directory = try ScratchDirectory()
    let files = ObservedFileSystem(PosixFileSystem())
    let isBlocked = Atomic(false)
    files.onSync = { path in
      while path.hasSuffix("/pages"), isBlocked.load(ordering: .relaxed) {
        SystemThread.sleep(milliseconds: 1)
      }
    }
    var options = options()
    options.busyTimeout = .seconds(60)
    let store = try Store(at: directory.path(of: "store"), options: options, fileSystem: files)
    isBlocked.store(true, ordering: .relaxed)
    // If the first write waited too, it would return only after this thread unblocks the sync.
    let watchdog = try #require(
      SystemThread {
        for _ in 0..<20_000 where isBlocked.load(ordering: .relaxed) {
          SystemThread.sleep(milliseconds: 1)
        }
        isBlocked.store(false, ordering: .relaxed)
      })
    defer { watchdog.join() }
    try store.write(durability: .normal) { transaction in
      try transaction.keyspace("rows").put(0, [UInt8](repeating: 1, count: 4 << 20))
    }
    let hasReturnedFirst = isBlocked.load(ordering: .relaxed)
    #expect(hasReturnedFirst)
    let didWrite = Atomic(false)
    let writer = try #require(
      SystemThread {
        #expect(throws: Never.self) { try write(store, 0..<1) }
        didWrite.store(true, ordering: .relaxed)
      })
    SystemThread.sleep(milliseconds: 100)
    let hasWaited = !didWrite.load(ordering: .relaxed)
    #expect(hasWaited)
    isBlocked.store(false, ordering: .relaxed)
    writer.join()
    #expect(store.statistics.activity.checkpointCount > 0)
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test(arguments: [nil, 16 << 20] as [Int?])
  func `checkpoints a large store less often by default`(byteCount: Int?) throws {
    let directory = try ScratchDirectory()
    var options = StoreOptions()
    (options.checkpointLogByteCount, options.maintenance) = (byteCount, .inline)
    let store = try Store(at: directory.path(of: "store"), options: options)
    func write(_ keys: Range<Int>) throws {
      let value = [UInt8](repeating: 1, count: 1 << 20)
      try store.write(durability: .normal) { transaction in
        for key in keys { try transaction.keyspace("rows").put(key, value) }
      }
    }
    try write(0..<24)
    _ = try store.checkpoint()
    let before = store.statistics.activity.checkpointCount
    try write(0..<18)
    let isLate = store.statistics.activity.checkpointCount == before
    #expect(isLate == (byteCount == nil))
    try write(18..<24)
    try write(0..<2)
    #expect(store.statistics.activity.checkpointCount == before + 1)
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test(.evidence("I7")) func `continues when the generation that blocked it expires`() throws {
    let directory = try ScratchDirectory()
    let store = try open(directory)
    try write(store, 0..<5)
    var held: Snapshot? = try store.snapshot()
    let generation = try #require(held?.generation)
    try write(store, 5..<200)
    #expect(waits { store.statistics.checkpointedGeneration == generation })
    #expect(try held?.keyspace("rows")?.get(7)?.first == 4)
    held = nil
    #expect(waits { store.statistics.checkpointedGeneration > generation })
    #expect(try store.verify().findings == [])
    try store.close()
  }

  @Test(.evidence("F5")) func `reports why its checkpoints fail`() throws {
    let directory = try ScratchDirectory()
    var options = options()
    options.access = .buffered
    options.checkpointLogByteCount = 128 << 10
    options.segmentByteCount = 1 << 20
    let reported = Mutex<[StorageError]>([])
    options.checkpointDidFail = { error in reported.withLock { $0.append(error) } }
    let store = try Store(at: directory.path(of: "store"), options: options)
    try write(store, 0..<1)
    #expect(store.statistics.lastCheckpointError == nil)
    // Damage leaves of the first commit, which are read only by a checkpoint.
    let url = URL(filePath: directory.path(of: "store") + "/wal-0000000000000001")
    let file = try FileHandle(forUpdating: url)
    for frame in 5..<7 as Range<UInt64> {
      try file.seek(toOffset: frame * 4096 + 2000)
      try file.write(contentsOf: [0xA5, 0x5A, 0xA5])
    }
    try file.close()
    var round = 1
    #expect(
      try waits {
        if round < 40 {
          try store.write(durability: .normal) { transaction in
            try transaction.keyspace("more").put(round, [UInt8](repeating: 1, count: 30_000))
          }
        }
        round += 1
        return store.statistics.lastCheckpointError?.kind == .corrupt && round > 20
      })
    // Later checkpoints failed for the same reason, but the error was not reported again.
    #expect(waits { reported.withLock { $0.map(\.kind) } == [.corrupt] })
    // Another process that opens the store can read the kind of the error.
    let other = try Store(
      at: directory.path(of: "store"), options: options, fileSystem: OtherProcess(PosixFileSystem())
    )
    #expect(other.statistics.lastCheckpointError?.kind == .corrupt)
  }

  @Test func `creates the next segment before a commit needs it`() throws {
    let directory = try ScratchDirectory()
    let store = try open(directory)
    // A segment that was created in advance has a number that no commit has reached yet.
    var round = 0
    #expect(
      try waits {
        if round < 200 { try write(store, round..<(round + 1)) }
        round += 1
        let names = try FileManager.default.contentsOfDirectory(
          atPath: directory.path(of: "store"))
        let last = names.compactMap { UInt64($0.dropFirst(4), radix: 16) }.max() ?? 0
        return last > store.statistics.newestGeneration.frame
      })
    #expect(try store.verify().findings == [])
    try store.close()
  }

  /// In an earlier version, the thread kept the files open slightly longer, so reopening a closed
  /// store sometimes failed.
  @Test func `has ended when the store is closed`() throws {
    let directory = try ScratchDirectory()
    for _ in 0..<TestScale.pick(quick: 40, all: 150, long: 400) {
      let store = try open(directory)
      let snapshot = try store.snapshot()
      try store.close()
      withExtendedLifetime(snapshot) {}
    }
    try StoreFixture.expectSound(open(directory))
  }

  /// A read-only store maps its counters only for reading, so a maintenance run would crash the
  /// process.
  @Test(.evidence("I7")) func `leaves maintenance to processes that write`() throws {
    let directory = try ScratchDirectory()
    let store = try open(directory)
    var options = options()
    options.isReadOnly = true
    let reader = try Store(
      at: directory.path(of: "store"), options: options,
      fileSystem: OtherProcess(PosixFileSystem()))
    for round in 0..<20 {
      var held: Snapshot? = try reader.snapshot()
      try write(store, round * 5..<round * 5 + 5)
      #expect(held != nil)
      held = nil
    }
    SystemThread.sleep(milliseconds: 50)
    #expect(reader.statistics.activity.checkpointCount == 0)
    try reader.close()
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
