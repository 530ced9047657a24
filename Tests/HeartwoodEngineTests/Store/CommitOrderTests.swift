import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests commits and syncs of one process between the steps of another process.
///
/// Other tests check the state after a writer has died.
@Suite("A commit beside another process")
struct CommitOrderTests {
  private let fileSystem = ObservedFileSystem(MemoryFileSystem())

  private func fixture() -> StoreFixture {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    options.segmentByteCount = 8 * 4096
    return .on(fileSystem, options)
  }

  @discardableResult
  private func put(
    _ store: Store, _ number: Int, _ durability: StoreOptions.Durability = .normal
  ) throws -> Generation {
    try store.write(durability: durability) { try $0.keyspace("k").put(number, [UInt8(number)]) }
  }

  private func numbers(_ store: Store) throws -> [Int] {
    var numbers: [Int] = []
    try store.snapshot().keyspace("k")?.forEach { key, _ in
      numbers.append(try Key.decode(key, as: Int.self))
      return true
    }
    return numbers
  }

  /// Runs `body` once, just before `store` locks the sync byte.
  ///
  /// - Returns: The number of syncs of the log that follow.
  private func syncCount(
    _ store: Store, besides body: @escaping () throws -> Void
  ) throws -> Int {
    var hasRun = false
    var count = 0
    fileSystem.onLock = { kind, range in
      guard !hasRun, case .exclusive = kind, range.lowerBound == LockByte.sync else { return }
      hasRun = true
      #expect(throws: Never.self) { try body() }
      count = 0
    }
    fileSystem.onSync = { path in if path.contains("/wal-") { count += 1 } }
    defer { (fileSystem.onLock, fileSystem.onSync) = (nil, nil) }
    try put(store, 1, .full)
    #expect(hasRun)
    return count
  }

  @Test(.evidence("D1")) func `syncs the segments that other processes have begun in the meantime`()
    throws
  {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second throws in
        let (counters, geometry) = (first.files.counters, first.files.geometry)
        let segment = { geometry.segment(of: counters.committed) }
        try put(first, 2)
        let before = segment()
        let unsynced = geometry.segment(of: geometry.next(after: counters.durable))
        // Fill one segment more than the first process has seen, including the segment created in
        // advance. There are too few segments for their number alone to reveal the unseen segment.
        let count = try syncCount(first) {
          for number in 3..<20 where segment() < before + 2 { try put(second, number) }
        }
        #expect(segment() == before + 2)
        #expect(count == Int(segment() - unsynced) + 1)
        #expect(first.files.counters.durable == first.files.counters.committed)
      }
    }
  }

  @Test(.evidence("D1")) func `is synced even if another process has made it visible`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second throws in
        #expect(try syncCount(first) { try put(second, 2) } > 0)
        #expect(first.files.counters.durable == first.files.counters.committed)
      }
    }
  }

  @Test func `is not synced again after another process synced it`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second throws in
        #expect(try syncCount(first) { try put(second, 2, .full) } == 0)
        #expect(try numbers(first) == [1, 2])
      }
    }
  }

  @Test(.evidence("D1")) func `that is appended during a sync is not covered by it`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second in
        var hasRun = false
        fileSystem.onSync = { path in
          guard path.contains("/wal-"), !hasRun else { return }
          hasRun = true
          #expect(throws: Never.self) { try put(second, 2) }
        }
        let generation = try put(first, 1, .full)
        fileSystem.onSync = nil
        #expect(hasRun)
        #expect(first.files.counters.durable == generation.frame)
        #expect(try numbers(first) == [1, 2])
      }
    }
  }

  @Test(.evidence("D1")) func `is synced wherever it is, whichever process made it`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second in
        let counters = first.files.counters
        let start = counters.durable
        for number in 0..<30 { try put(second, number) }
        let geometry = first.files.geometry
        let segments = geometry.segment(of: start + 1)...geometry.segment(of: counters.appended)
        #expect(segments.count > 5)
        var synced: Set<String> = []
        fileSystem.onSync = { synced.insert($0) }
        try first.checkpoint()
        fileSystem.onSync = nil
        for segment in segments {
          #expect(synced.contains(first.files.log.path(segment)), "segment \(segment)")
        }
      }
    }
  }

  @Test(.evidence("F3")) func `is not acknowledged when a sync failed elsewhere`() throws {
    let fixture = fixture()
    let store = try fixture.open()
    let counters = try fixture.counters()
    var hasRun = false
    fileSystem.onLock = { kind, range in
      guard !hasRun, case .exclusive = kind, range.lowerBound == LockByte.sync else { return }
      hasRun = true
      counters.setFailed()
    }
    let error = #expect(throws: StorageError.self) { try put(store, 1, .full) }
    fileSystem.onLock = nil
    #expect(hasRun)
    #expect(error?.kind == .writesDisabled)
    try StoreFixture.expectSound(store)
    #expect(throws: StorageError.self) { try store.close() }
  }

  /// The other process has filled these segments, and its maintenance run has deleted them.
  @Test(.evidence("K3")) func `creates in advance no segments that are already in use`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try fixture.elsewhere().run { second in
        var hasRun = false
        fileSystem.onLock = { kind, range in
          guard !hasRun, case .exclusive = kind, range.lowerBound == LockByte.allocator else {
            return
          }
          hasRun = true
          #expect(throws: Never.self) {
            for number in 100..<140 { try put(second, number % 256) }
            try second.checkpoint()
          }
        }
        // Segments are created in advance only if the current segment is more than half full.
        var number = 0
        while !hasRun {
          try put(first, number)
          number += 1
        }
        fileSystem.onLock = nil
        let files = first.files
        for segment in try files.log.existing() {
          #expect(files.geometry.lastSlot(of: segment) > files.counters.checkpointed)
        }
      }
    }
  }

  // MARK: Dead writers

  /// Writes 2 in another process, which dies before it announces the commit, and returns the
  /// generation.
  private func dyingWrite(_ fixture: StoreFixture) throws -> Generation {
    let counters = try fixture.counters()
    let (appended, committed) = (counters.appended, counters.committed)
    let generation = try put(fixture.elsewhere().open(), 2)
    counters.store(appended, CountersLayout.appended)
    counters.store(committed, CountersLayout.committed)
    return generation
  }

  @Test(.evidence("D4"), .evidence("D7"))
  func `follows the complete commit of a writer that died`() throws {
    let fixture = fixture()
    try fixture.run { first in
      try put(first, 1)
      let lost = try dyingWrite(fixture)
      #expect(try numbers(first) == [1])
      let next = try put(first, 3)
      #expect(next > lost)
      #expect(try numbers(first) == [1, 2, 3])
      let between = try first.snapshot(at: lost).keyspace("k")?.count()
      #expect(between == 2)
    }
  }

  @Test(.evidence("D4")) func `without changes shows the complete commit of a writer that died`()
    throws
  {
    let fixture = fixture()
    try fixture.run { first in
      try put(first, 1)
      let lost = try dyingWrite(fixture)
      let counters = try fixture.counters()
      #expect(try first.write(durability: .normal) { _ in } == lost)
      #expect(counters.appended == lost.frame)
      #expect(try first.write(durability: .full) { _ in } == lost)
      #expect(counters.durable == lost.frame)
      #expect(try numbers(first) == [1, 2])
    }
  }

  /// The writer had written the header of the commit, but not its image, when it died.
  @Test(.evidence("D2")) func `replaces the incomplete commit of a writer that died`()
    throws
  {
    let fixture = fixture()
    try fixture.run { first in
      try put(first, 1)
      let lost = try dyingWrite(fixture)
      let geometry = first.files.geometry
      let segment = try #require(
        try fixture.fileSystem.open(
          first.files.log.path(geometry.segment(of: lost.frame)), .write))
      let zeros = ByteBlock(count: geometry.pageByteCount)
      try segment.write([zeros.bytes.bytes], at: geometry.offset(of: lost.frame))
      zeros.keep()
      try put(first, 3)
      #expect(try numbers(first) == [1, 3])
    }
  }
}
