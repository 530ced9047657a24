import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests maintenance runs and other processes that interrupt each other between two steps.
///
/// A file-system hook runs the interrupting actions. A call to the store from a hook simulates
/// another thread. If the call has to wait, the test makes it on a real thread.
@Suite("A maintenance run beside other processes")
struct MaintenanceOrderTests {
  private let fileSystem: ObservedFileSystem
  private let disk = SimulatedDisk(seed: 12)

  init() { fileSystem = ObservedFileSystem(disk) }

  /// Returns a fixture for a store with small segments and without automatic maintenance.
  private func fixture() -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 8 * 4096
    return .on(fileSystem, options)
  }

  @discardableResult
  private func put(_ store: Store, _ value: UInt8) throws -> Generation {
    try store.write { try $0.keyspace("k").put(1, [value]) }
  }

  private func value(_ store: Store, _ generation: Generation) throws -> UInt8? {
    try store.snapshot(at: generation).keyspace("k")?.get(1)?.first
  }

  /// The name is added after the run has read the pins.
  ///
  /// The pin is released after the run has read the list of names.
  @Test(.evidence("K1")) func `finds a generation that is named while it decides`() throws {
    try fixture().run { store in
      try store.keep(put(store, 1), as: "first")
      let generation = try put(store, 2)
      var pin: Snapshot? = try store.snapshot()
      try put(store, 3)
      var hasRun = false
      fileSystem.onRead = { path, _ throws(StorageError) in
        guard path.hasSuffix("/kept"), !hasRun else { return }
        hasRun = true
        let name = Result { try store.keep(generation, as: "second") }
        #expect(throws: Never.self) { try name.get() }
        withExtendedLifetime(pin) {}
        pin = nil
      }
      try store.checkpoint()
      fileSystem.onRead = nil
      #expect(try value(store, generation) == 2)
    }
  }

  @Test(.evidence("I5"))
  func `makes pins of a generation wait while it decides`() throws {
    try fixture().run { store in
      try store.keep(put(store, 1), as: "first")
      let generation = try put(store, 2)
      try put(store, 3)
      var asking: Aside?
      fileSystem.onRead = { path, _ throws(StorageError) in
        // The run has already read the pins, and this generation was not pinned.
        guard path.hasSuffix("/kept"), asking == nil else { return }
        asking = Aside { _ = try store.snapshot(at: generation) }
        asking?.giveTime()
      }
      try store.checkpoint()
      fileSystem.onRead = nil
      #expect(asking?.outcome() == .generationExpired)
    }
  }

  @Test(.evidence("D8"), .evidence("D10"))
  func `claims no durability for commits made while it runs`() throws {
    var fixture = fixture()
    // With background maintenance, a writer leaves all maintenance to another thread.
    fixture.options.maintenance = .background
    try fixture.run { store in
      for number: UInt8 in 0..<10 { try put(store, number) }
      var durable: FrameNumber = 0
      fileSystem.onWrite = { path, offset throws(StorageError) in
        guard path.hasSuffix("/pages"), offset >= Geometry.firstPageOffset, durable == 0 else {
          return
        }
        durable = store.files.counters.durable
        for number: UInt8 in 10..<40 {
          #expect(throws: Never.self) {
            try store.write(durability: .normal) { try $0.keyspace("k").put(1, [number]) }
          }
        }
      }
      try store.checkpoint()
      #expect(durable > 0)
      let files = store.files
      let slots = try HeaderSlot.readBoth(files.pageFile.file)
      let header = try #require(HeaderSlot.newest(slots))
      #expect(header.durableUpTo <= durable)
      let table = try files.log.openAll(from: 0, isMapped: false)
      let scanner = try LogScanner(
        table: table, geometry: files.geometry, seed: files.identity.seed, from: .empty)
      for segment in table.segments {
        guard let footer = try scanner.footer(of: segment.number) else { continue }
        #expect(footer.point.frame <= durable, "segment \(segment.number)")
      }
    }
    fileSystem.onWrite = nil
  }

  @Test(.evidence("D11")) func `writes back no commit made while it begins`() throws {
    var fixture = fixture()
    fixture.options.maintenance = .background
    try fixture.run { store in
      try store.keep(put(store, 1), as: "first")
      try put(store, 2)
      // Create a map, which every later maintenance run reads before it decides what to do.
      try store.checkpoint()
      try store.release("first")
      try put(store, 3)
      var durable: FrameNumber = 0
      fileSystem.onRead = { path, _ throws(StorageError) in
        guard path.hasSuffix("/map"), durable == 0 else { return }
        durable = store.files.counters.durable
        #expect(throws: Never.self) {
          try store.write(durability: .normal) { try $0.keyspace("k").put(1, [4]) }
        }
      }
      let result = try store.checkpoint()
      #expect(durable > 0)
      #expect(result.checkpointedGeneration.frame <= durable)
      #expect(try store.snapshot().keyspace("k")?.get(1) == [4])
    }
    fileSystem.onRead = nil
  }

  /// When the run begins, the commit has reserved the space but has not published its page count.
  @Test(.evidence("F6")) func `truncates no space that a commit is about to use`() throws {
    let large = [UInt8](repeating: 7, count: 2_000_000)
    try fixture().run { store in
      try store.write { try $0.keyspace("k").put(1, large) }
      try store.write { try $0.keyspace("k").delete(1) }
      var maintenance: Aside?
      fileSystem.onWrite = { path, _ throws(StorageError) in
        guard path.contains("/wal-"), maintenance == nil else { return }
        maintenance = Aside { try store.checkpoint() }
        maintenance?.giveTime()
      }
      try store.write { try $0.keyspace("k").put(1, large) }
      fileSystem.onWrite = nil
      #expect(maintenance?.outcome() == nil)
      let needed = store.files.geometry.offset(ofPage: PageNumber(store.statistics.pageCount))
      let byteCount = try store.files.pageFile.file.byteCount()
      #expect(byteCount >= needed)
    }
  }

  /// A process that pins a generation locks it before searching for its commit.
  @Test(.evidence("I7")) func `ignores a locked number at which no commit ends`() throws {
    try fixture().run { store in
      try put(store, 1)
      let newest = try put(store, 2)
      let locks = StoreLocks(file: try #require(try disk.open("/store/locks", .read)))
      try locks.lockLive(newest.frame - 1)
      let result = try store.checkpoint()
      #expect(result.checkpointedGeneration == newest && result.blockingGeneration == nil)
      try locks.unlockLive(newest.frame - 1)
    }
  }

  /// If the run took the error to mean that no commit ends there, it would overwrite pages that the
  /// other process is reading.
  @Test(.evidence("F4"), .evidence("I7"))
  func `throws if it cannot read the commit of a generation that another process holds`() throws {
    let fixture = fixture()
    try fixture.run { store in
      try fixture.elsewhere().run { other in
        try put(store, 1)
        let held = try other.snapshot()
        try put(store, 2)
        var hasFailed = false
        fileSystem.onRead = { path, _ throws(StorageError) in
          guard path.hasSuffix("/pages"), !hasFailed else { return }
          hasFailed = true
          throw .unchanged(.io, "The read failed.", file: path, errno: 5)
        }
        let error = #expect(throws: StorageError.self) { try store.checkpoint() }
        fileSystem.onRead = nil
        #expect(error?.kind == .io && hasFailed)
        #expect(try store.checkpoint().blockingGeneration == held.generation)
        #expect(try held.keyspace("k")?.get(1) == [1])
      }
    }
  }

  /// On a file system without preallocation, allocating space sets the length of the file.
  @Test(.evidence("D15")) func `extends the page file only while no transaction runs`() throws {
    try fixture().run { store in
      try store.write { try $0.keyspace("k").put(1, [UInt8](repeating: 7, count: 100_000)) }
      let file = store.files.pageFile.file
      // Undo the allocation, as a power cut may do.
      try file.setByteCount(Geometry.firstPageOffset)
      let locks = StoreLocks(file: try #require(try disk.open("/store/locks", .write)))
      #expect(try locks.tryLock(.exclusive, byte: LockByte.writer))
      let maintenance = Aside { try store.checkpoint() }
      maintenance.giveTime()
      #expect(try file.byteCount() == Geometry.firstPageOffset)
      try locks.unlock(byte: LockByte.writer)
      #expect(maintenance.outcome() == nil)
      try StoreFixture.expectSound(store)
    }
  }

  /// When the run begins, a thread has replaced the list, but has not yet synced the directory.
  @Test(.evidence("K2")) func `acts on no release that a power cut could undo`() throws {
    let fixture = fixture()
    let store = try fixture.open()
    try store.keep(put(store, 1), as: "x")
    try put(store, 2)
    var cuts: [SimulatedDisk] = []
    fileSystem.onDirectorySync = { () throws(StorageError) in
      // Simulate a power cut before each directory sync in the run, because any of these syncs
      // could make the release durable.
      fileSystem.onDirectorySync = { () throws(StorageError) in cuts.append(disk.crashed(.nothing))
      }
      #expect(throws: Never.self) { try store.checkpoint() }
      fileSystem.onDirectorySync = nil
      cuts.append(disk.crashed(.nothing))
    }
    try store.release("x")
    try StoreFixture.expectSound(store)
    #expect(cuts.count > 1)
    for cut in cuts {
      let after = try StoreFixture.on(cut, fixture.options).open()
      for generation in try after.namedGenerations().values {
        #expect(try value(after, generation) == 1)
      }
      try StoreFixture.expectSound(after)
    }
  }

  @Test(.evidence("I5"))
  func `advances the page file during the search for a generation`() throws {
    try fixture().run { store in
      for number: UInt8 in 0..<20 { try put(store, number) }
      let newest = store.statistics.newestGeneration
      try store.keep(newest, as: "newest")
      var hasRun = false
      fileSystem.onRead = { path, offset throws(StorageError) in
        guard path.hasSuffix("/pages"), offset == HeaderSlotLayout.offsets[1], !hasRun else {
          return
        }
        hasRun = true
        #expect(throws: Never.self) { try store.checkpoint() }
      }
      #expect(try store.liveGenerations().map(\.generation) == [newest])
      #expect(hasRun)
      fileSystem.onRead = nil
    }
  }

  @Test(.evidence("I5"))
  func `replaces the map during the search for a generation`() throws {
    try fixture().run { store in
      try store.keep(put(store, 0), as: "first")
      for number: UInt8 in 1..<10 { try put(store, number) }
      try store.checkpoint()
      var generation = Generation(frame: 0)
      for number: UInt8 in 10..<40 {
        let next = try put(store, number)
        if number == 25 { generation = next }
      }
      var hasRun = false
      fileSystem.onRead = { path, _ throws(StorageError) in
        guard path.hasSuffix("/map"), !hasRun else { return }
        hasRun = true
        #expect(throws: Never.self) { try store.checkpoint() }
      }
      #expect(try value(store, generation) == 25)
      #expect(hasRun)
      fileSystem.onRead = nil
    }
  }
}
