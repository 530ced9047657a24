import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that counters of an earlier process are trusted only in the same boot and with the same
/// files.
@Suite("Counters of an earlier opening")
struct SharedCountersTrustTests {
  private func fixture(_ fileSystem: any FileSystem = MemoryFileSystem()) -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 64 << 10
    return .on(fileSystem, options)
  }

  private func commit(_ store: Store, _ numbers: ClosedRange<Int>) throws {
    for number in numbers { try store.write { try $0.keyspace("k").put(number, [1]) } }
    try StoreFixture.expectSound(store)
  }

  /// Makes commits, and then releases the store as if the process had died.
  private func leave(_ fixture: StoreFixture, _ numbers: ClosedRange<Int>) throws {
    try commit(try fixture.open(), numbers)
  }

  /// Opens the store, expects `count` entries, and returns whether the opening began a new lineage.
  private func beginsAnew(_ fixture: StoreFixture, count: Int) throws -> Bool {
    try fixture.run { store throws in
      #expect(try store.snapshot().keyspace("k")?.count() == count)
      return store.recovery.startedLineage
    }
  }

  @Test(.evidence("D7")) func `are trusted only in the same boot`() throws {
    let disk = SimulatedDisk(seed: 6)
    try leave(fixture(disk), 1...3)
    #expect(try !beginsAnew(fixture(disk.killed()), count: 3))
    #expect(try beginsAnew(fixture(disk.crashed(.everything)), count: 3))
  }

  @Test(.evidence("D7")) func `are not trusted with another page file`() throws {
    let fixture = fixture()
    try leave(fixture, 1...3)
    let pages = try fixture.bytes(of: "pages")
    try fixture.fileSystem.remove(fixture.path(of: "pages"))
    try fixture.write(pages, to: "pages")
    #expect(try beginsAnew(fixture, count: 3))
    #expect(try !beginsAnew(fixture, count: 3))
  }

  @Test(.evidence("D7")) func `are not trusted in a copy`() throws {
    let fixture = fixture()
    try leave(fixture, 1...3)
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "counters"), .write))
    let counters = try file.mapShared(byteCount: CountersLayout.byteCount).bytes.bytes.copied()
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    try fixture.write(counters, to: "counters")
    #expect(try beginsAnew(fixture, count: 3))
  }

  /// A store that accepted the older files would reuse frame numbers for other states.
  ///
  /// These frame numbers have already been used since the copy was made.
  @Test(.evidence("D7"), .evidence("B2"), arguments: [false, true])
  func `reveal that files were replaced by older files`(isCheckpoint: Bool) throws {
    let fixture = fixture()
    do {
      let store = try fixture.open()
      try commit(store, 1...3)
      let older = try fixture.allBytes().filter { $0.key != "counters" && $0.key != "locks" }
      if isCheckpoint { try store.checkpoint() } else { try commit(store, 4...6) }
      try StoreFixture.expectSound(store)
      withExtendedLifetime(store) {}
      for (name, bytes) in older { try fixture.write(bytes, to: name) }
    }
    let before = try fixture.allBytes()
    let error = #expect(throws: StorageError.self) { try fixture.open() }
    #expect(error?.kind == .corrupt)
    let isUnchanged = try fixture.allBytes() == before
    #expect(isUnchanged)
  }

  /// Sets a counter to an incorrect value while no process has the store open.
  private func set(_ word: Field, to value: UInt64, _ fixture: StoreFixture) throws {
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "counters"), .write))
    SharedCounters(try file.mapShared(byteCount: CountersLayout.byteCount)).store(value, word)
  }

  /// A reader that trusted such counters would wait forever for a generation at or above the floor.
  @Test(
    .evidence("B2"),
    arguments: [
      CountersLayout.appended, CountersLayout.committed, CountersLayout.durable,
      CountersLayout.floor, CountersLayout.checkpointed,
    ])
  func `are not trusted if they name commits that the files lack`(word: Field) throws {
    for value in [1000, UInt64.max] {
      let disk = SimulatedDisk(seed: 7)
      try leave(fixture(disk), 1...3)
      let fixture = fixture(disk.killed())
      try set(word, to: value, fixture)
      do {
        try fixture.run { store in
          let count = try store.snapshot().keyspace("k")?.count()
          #expect(count == 3)
        }
        #expect(word != CountersLayout.appended, "what was appended is gone")
      } catch let error as StorageError {
        #expect(error.kind == .corrupt && word == CountersLayout.appended, "\(error)")
      }
    }
  }

  /// Returns the disk of a process that died after writing a header slot and before announcing it.
  private func interruptedCheckpoint() throws -> SimulatedDisk {
    let disk = SimulatedDisk(seed: 9)
    let checkpointed: FrameNumber
    do {
      let store = try fixture(disk).open()
      try commit(store, 1...3)
      checkpointed = store.files.counters.checkpointed
      try store.checkpoint()
    }
    let killed = disk.killed()
    try set(CountersLayout.checkpointed, to: checkpointed, fixture(killed))
    return killed
  }

  @Test(.evidence("F3"))
  func `are marked as failed if the opening cannot sync the page file`() throws {
    // Try each call of the opening, because the number of the sync is unknown.
    for call in 1...100 {
      let disk = try interruptedCheckpoint()
      let fixture = fixture(disk)
      disk.faultPlan = .failure(.io, atCall: call, dropsUnsynced: true)
      var failure: StorageError?
      do throws(StorageError) { _ = try fixture.open() } catch { failure = error }
      disk.faultPlan = FaultPlan()
      guard failure?.file == fixture.path(of: "pages"), disk.calls[call - 1] == .sync else {
        continue
      }
      #expect(failure?.kind == .io)
      #expect(try fixture.counters().hasFailed)
      #expect(try beginsAnew(fixture, count: 3))
      #expect(try !beginsAnew(fixture, count: 3))
      return
    }
    Issue.record("The opening did not sync the page file.")
  }

  @Test(.evidence("B2"), arguments: [UInt64.max, UInt64.max - 1])
  func `may count maintenance runs up to any number`(epoch: UInt64) throws {
    let disk = SimulatedDisk(seed: 8)
    try leave(fixture(disk), 1...3)
    let fixture = fixture(disk.killed())
    try set(CountersLayout.epoch, to: epoch, fixture)
    try fixture.run { store throws in
      try store.checkpoint()
      #expect(try store.snapshot().keyspace("k")?.count() == 3)
    }
  }
}
