import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the locks on live generations, as another owner of the lock file sees them.
@Suite("A generation table")
struct GenerationTableTests {
  private func fixture(
    _ access: StoreOptions.Access = .mapped, durability: StoreOptions.Durability = .full
  ) throws -> StoreFixture {
    var options = StoreOptions()
    options.access = access
    options.durability = durability
    options.segmentByteCount = 64 << 10
    options.checkpointLogByteCount = 0
    return try .onDisk(options)
  }

  @discardableResult
  private func commit(_ store: Store, _ number: Int) throws -> FrameNumber {
    try store.write { try $0.keyspace("k").put(number % 7, Array("\(number)".utf8)) }
      .frame
  }

  private func value(_ snapshot: Snapshot, _ number: Int) throws -> [UInt8]? {
    try snapshot.keyspace("k")?.get(number % 7)
  }

  /// Opens the lock file of an open store again, with separate locks.
  private func other(_ fixture: StoreFixture) throws -> any File {
    try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .read))
  }

  private func isLive(_ file: any File, _ generation: FrameNumber) throws -> Bool {
    try !StoreLocks(file: file).liveElsewhere(in: generation..<generation + 1).isEmpty
  }

  /// Returns all generations that are held by owners other than `file`.
  private func live(_ file: any File) throws -> [FrameNumber] {
    try StoreLocks(file: file).liveElsewhere(in: 0..<1 << 41)
  }

  private func expectExpired(
    _ store: Store, _ generation: FrameNumber, _ location: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: StorageError.self, sourceLocation: location) {
      try store.snapshot(at: Generation(frame: generation))
    }
    #expect(error?.kind == .generationExpired, sourceLocation: location)
  }

  /// Returns whether a generation is live while `snapshot` is held.
  private func isLive(
    _ file: any File, _ generation: FrameNumber, while snapshot: Snapshot
  ) throws -> Bool {
    defer { withExtendedLifetime(snapshot) {} }
    return try isLive(file, generation)
  }

  /// Waits until the condition holds.
  ///
  /// - Returns: `false` after 20 s, which is much longer than necessary.
  private func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<2000 {
      if try condition() { return true }
      Thread.sleep(forTimeInterval: 0.01)
    }
    return false
  }

  @Test(.evidence("I6")) func `locks a live byte for as long as a snapshot lives`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let generation = try commit(store, 1)
      let file = try other(fixture)
      var snapshots = [try store.snapshot(), try store.snapshot()]
      snapshots.append(try store.snapshot(at: Generation(frame: generation)))
      let byte = (1 << 40) + generation
      #expect(try file.lockedByOthers(in: byte..<byte + 1) == byte..<byte + 1)
      try commit(store, 2)
      // The generation is no longer the newest, so its lock is released together with its last
      // snapshot.
      while !snapshots.isEmpty {
        #expect(try file.lockedByOthers(in: byte..<byte + 1) == byte..<byte + 1)
        snapshots.removeLast()
      }
      #expect(try file.lockedByOthers(in: byte..<byte + 1) == nil)
    }
  }

  @Test(.evidence("I6")) func `releases the newest generation when it is unused`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let generation = try commit(store, 1)
      let file = try other(fixture)
      #expect(try isLive(file, generation, while: store.snapshot()))
      let isGone = try eventually { try !isLive(file, generation) }
      #expect(isGone)
      // A new snapshot locks the generation again.
      #expect(try isLive(file, generation, while: store.snapshot()))
    }
  }

  @Test(.evidence("I6")) func `drops a lingering pin when a newer generation appears`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let file = try other(fixture)
      for number in 1...20 {
        let generation = try commit(store, number)
        #expect(try store.read { try value($0, number) } == Array("\(number)".utf8))
        #expect(try live(file).allSatisfy { $0 == generation })
      }
    }
  }

  @Test(.evidence("I6")) func `leaves no lock behind a closed store`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      try commit(store, 1)
      _ = try store.snapshot()
    }
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .write))
    #expect(try file.lockedByOthers(in: 0..<1 << 62) == nil)
  }

  @Test(.evidence("I6")) func `unlocks a generation after the store was closed`() throws {
    let fixture = try fixture()
    let store = try fixture.open()
    let (generation, file) = (try commit(store, 1), try other(fixture))
    var held = [try store.snapshot()]
    try store.close()
    #expect(try isLive(file, generation, while: held.removeLast()) && !isLive(file, generation))
    try fixture.run { _ in }
  }

  // MARK: Snapshots of a given generation

  @Test(.evidence("I5"), .evidence("I1"), arguments: [StoreOptions.Access.mapped, .buffered])
  func `shows a live generation completely`(access: StoreOptions.Access) throws {
    let fixture = try fixture(access)
    try fixture.run { store in
      let first = try commit(store, 1)
      let held = try store.snapshot()
      for number in 2...60 { try commit(store, number) }
      try store.checkpoint()
      let again = try store.snapshot(at: Generation(frame: first))
      #expect(again.generation == held.generation)
      #expect(try value(again, 1) == Array("1".utf8))
      #expect(try again.keyspace("k")?.count() == 1)
      #expect(try value(held, 1) == Array("1".utf8))
      #expect(try store.checkpoint().blockingGeneration?.frame == first)
      withExtendedLifetime((held, again)) {}
    }
  }

  @Test(.evidence("I5")) func `shows a superseded generation that no maintenance run has released`()
    throws
  {
    let fixture = try fixture()
    try fixture.run { store in
      let generations = try (1...40).map { try commit(store, $0) }
      for (position, generation) in generations.enumerated().reversed() {
        let snapshot = try store.snapshot(at: Generation(frame: generation))
        #expect(snapshot.generation.frame == generation)
        #expect(try value(snapshot, position + 1) == Array("\(position + 1)".utf8))
        #expect(try snapshot.keyspace("k")?.count() == min(position + 1, 7))
      }
    }
  }

  @Test(.evidence("I5")) func `rejects an expired generation`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let generations = try (1...10).map { try commit(store, $0) }
      try store.checkpoint()
      for generation in generations.dropLast() { expectExpired(store, generation) }
      let newest = try #require(generations.last)
      #expect(try store.snapshot(at: Generation(frame: newest)).generation.frame == newest)
      let file = try other(fixture)
      #expect(try live(file).allSatisfy { $0 == newest })
    }
  }

  @Test(.evidence("I5")) func `rejects a generation that was never a commit`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let first = try commit(store, 1)
      let second = try commit(store, 2)
      #expect(second > first + 1)
      for generation in [first + 1, second - 1, second + 1, 1 << 41, .max] {
        expectExpired(store, generation)
      }
      let file = try other(fixture)
      #expect(try live(file).isEmpty)
      #expect(store.statistics.liveGenerationCount == 0)
    }
  }

  @Test func `of a fresh store shows an empty generation`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let snapshot = try store.snapshot()
      #expect(try snapshot.keyspaceNames == [])
      #expect(try snapshot.keyspace("k") == nil)
      #expect(store.statistics.pageCount == 0)
      let again = try store.snapshot(at: snapshot.generation)
      #expect(again.generation == snapshot.generation)
      // Opening the store created a generation with the lineage-start commit. Generation 0 was not
      // held, so it has expired.
      #expect(snapshot.generation > Generation(frame: 0))
      expectExpired(store, 0)
    }
  }

  @Test func `of a store that was created and never opened shows generation 0`() throws {
    let made = StoreFixture.inMemory()
    try made.run { _ in }
    var bytes = try HeaderSlotFile.fresh(like: made.bytes(of: "pages"))
    bytes += [UInt8](repeating: 0, count: Int(Geometry.firstPageOffset) - bytes.count)
    var fixture = StoreFixture.inMemory()
    fixture.options.isReadOnly = true
    try fixture.write(bytes, to: "pages")
    try fixture.write([], to: "locks")
    try fixture.run { store in
      let snapshot = try store.snapshot()
      #expect(snapshot.generation == Generation(frame: 0))
      #expect(try snapshot.keyspaceNames == [])
      #expect(try store.snapshot(at: Generation(frame: 0)).generation.frame == 0)
    }
  }

  // MARK: Locks of other owners

  private func geometry(of fixture: StoreFixture) throws -> Geometry {
    try #require(
      Geometry(pageByteCount: 4096, segmentByteCount: fixture.options.segmentByteCount))
  }

  private func segments(of fixture: StoreFixture) throws -> [UInt64] {
    let geometry = try geometry(of: fixture)
    return try fixture.names().compactMap { geometry.segment(named: $0) }
  }

  /// Returns a function that checks whether the page file contains everything in a segment.
  private func covered(
    _ fixture: StoreFixture, _ result: CheckpointResult
  ) throws -> (UInt64) -> Bool {
    let geometry = try geometry(of: fixture)
    return { geometry.lastSlot(of: $0) <= result.checkpointedGeneration.frame }
  }

  @Test(.evidence("I7")) func `is held back by a lock of another owner`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let first = try commit(store, 1)
      let file = try other(fixture)
      #expect(try file.lock(.shared, (1 << 40) + first..<(1 << 40) + first + 1))
      for number in 2...100 { try commit(store, number) }
      let segments = try segments(of: fixture)
      for _ in 0..<2 {
        let result = try store.checkpoint()
        #expect(result.blockingGeneration?.frame == first)
        #expect(result.checkpointedGeneration.frame == first)
        #expect(try store.snapshot(at: Generation(frame: first)).generation.frame == first)
      }
      // Maintenance has reclaimed the frames that neither the held nor the newest generation needs.
      #expect(try self.segments(of: fixture).count < segments.count)
      #expect(try file.lock(.none, (1 << 40) + first..<(1 << 40) + first + 1))
      let result = try store.checkpoint()
      #expect(result.blockingGeneration == nil)
      #expect(result.checkpointedGeneration == store.statistics.newestGeneration)
      let (kept, isCovered) = (try self.segments(of: fixture), try covered(fixture, result))
      #expect(kept.allSatisfy { !isCovered($0) })
      expectExpired(store, first)
    }
  }

  @Test(.evidence("I7")) func `leaves an empty log when nothing is held`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      for number in 1...50 { try commit(store, number) }
      let result = try store.checkpoint()
      #expect(result.checkpointedGeneration == store.statistics.newestGeneration)
      let (kept, isCovered) = (try segments(of: fixture), try covered(fixture, result))
      #expect(kept.allSatisfy { !isCovered($0) })
      #expect(try store.verify().logCommitCount == 0)
    }
  }

  @Test(.evidence("I7")) func `is held back by any of 300 locks at once`() throws {
    let fixture = try fixture(.buffered, durability: .normal)
    try fixture.run { store in
      let file = try other(fixture)
      var held: [FrameNumber] = []
      for number in 0..<300 {
        let generation = try commit(store, number)
        #expect(try file.lock(.shared, (1 << 40) + generation..<(1 << 40) + generation + 1))
        held.append(generation)
      }
      try commit(store, 300)
      for released in [0, 1, 100, 150, 48] {
        for generation in held.prefix(released) {
          #expect(try file.lock(.none, (1 << 40) + generation..<(1 << 40) + generation + 1))
        }
        held.removeFirst(released)
        let result = try store.checkpoint()
        #expect(result.blockingGeneration?.frame == held.first)
        #expect(result.checkpointedGeneration.frame == held.first)
        for generation in TestScale.some(held, every: 9) {
          let snapshot = try store.snapshot(at: Generation(frame: generation))
          #expect(snapshot.generation.frame == generation)
        }
      }
      #expect(held.count == 1)
      #expect(try file.lock(.none, 1 << 40..<1 << 41))
      #expect(try store.checkpoint().blockingGeneration == nil)
      expectExpired(store, held[0])
    }
  }

  @Test(.evidence("I6")) func `shows each held generation to other processes`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let old = try commit(store, 1)
      try commit(store, 2)
      let newest = try commit(store, 3)
      let file = try other(fixture)
      var snapshots = [try store.snapshot(at: Generation(frame: old)), try store.snapshot()]
      #expect(snapshots.map(\.generation.frame) == [old, newest])
      #expect(try isLive(file, old))
      #expect(try isLive(file, newest))
      snapshots.removeFirst()
      #expect(try !isLive(file, old))
      withExtendedLifetime(snapshots) {}
    }
  }

  /// A lock shows that a process holds a generation, but not that the generation is still readable.
  @Test(.evidence("I5"), .evidence("I6"))
  func `retains in a new boot the available generations that others hold`() throws {
    let fixture = try fixture()
    let file = try fixture.run { store in try other(fixture) }
    var generations: [FrameNumber] = []
    do {
      let store = try fixture.open()
      for number in 1...4 { generations.append(try commit(store, number)) }
      try store.keep(Generation(frame: generations[0]), as: "x")
      try store.checkpoint()
      for number in 5...7 { generations.append(try commit(store, number)) }
      try StoreFixture.expectSound(store)
    }
    for held in [generations[1], generations[4]] {
      let byte = LockByte.live + held
      #expect(try file.lock(.shared, byte..<byte + 1))
    }
    // Without the counters, the next opening behaves as after a restart of the machine.
    try fixture.fileSystem.remove(fixture.path(of: "counters"))
    try fixture.run { store in
      #expect(store.recovery.startedLineage)
      expectExpired(store, generations[1])
      expectExpired(store, generations[5])
      let snapshot = try store.snapshot(at: Generation(frame: generations[4]))
      #expect(try value(snapshot, 5) == Array("5".utf8))
      #expect(try store.checkpoint().blockingGeneration?.frame == generations[0])
      #expect(try store.liveGenerations().map(\.generation.frame).first == generations[0])
    }
  }

  @Test func `ignores a lock on a released generation`() throws {
    let fixture = try fixture()
    try fixture.run { store in
      let first = try commit(store, 1)
      try commit(store, 2)
      try store.checkpoint()
      let file = try other(fixture)
      #expect(try file.lock(.shared, (1 << 40) + first..<(1 << 40) + first + 1))
      try commit(store, 3)
      #expect(try store.checkpoint().blockingGeneration == nil)
      expectExpired(store, first)
    }
  }
}

/// Creates page files in the state between the creation of a store and its first opening.
private enum HeaderSlotFile {
  /// Returns the initial header slot of a store that has the identity and geometry of the given
  /// store.
  static func fresh(like bytes: [UInt8]) throws -> [UInt8] {
    let file = try #require(try MemoryFileSystem().open("pages", .create))
    try file.write(bytes, at: 0)
    let newest = try #require(HeaderSlot.newest(try HeaderSlot.readBoth(file)))
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    HeaderSlot(
      geometry: newest.geometry, identity: newest.identity, sequence: 1, checkpointed: .empty,
      durableUpTo: 0, lineages: []
    ).encode(to: block.bytes)
    return withExtendedLifetime(block) { block.bytes.bytes.copied() }
  }
}
