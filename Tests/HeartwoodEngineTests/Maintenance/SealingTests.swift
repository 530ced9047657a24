import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests when a store writes segment footers, and how opening uses them.
@Suite("Sealing")
struct SealingTests {
  private static let framesPerSegment = 32

  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.segmentByteCount = framesPerSegment * 4096
    options.checkpointLogByteCount = 0
    return options
  }

  private func write(
    _ store: Store, _ numbers: Range<Int>, _ durability: StoreOptions.Durability = .full
  ) throws {
    for number in numbers {
      try store.write(durability: durability) {
        try $0.keyspace("k").put(number % 50, [UInt8](repeating: UInt8(number & 0xFF), count: 40))
      }
    }
  }

  private func header(_ fixture: StoreFixture) throws -> HeaderSlot {
    let pages = try #require(try fixture.fileSystem.open(fixture.path(of: "pages"), .read))
    return try #require(HeaderSlot.newest(try HeaderSlot.readBoth(pages)))
  }

  /// Returns all existing segments, each with its footer, or with `nil` if it has no valid footer.
  private func footers(_ fixture: StoreFixture) throws -> [UInt64: SegmentFooter?] {
    let header = try header(fixture)
    var footers: [UInt64: SegmentFooter?] = [:]
    for name in try fixture.names() {
      guard let segment = header.geometry.segment(named: name) else { continue }
      let bytes = try fixture.bytes(of: name)
      footers[segment] = .some(
        bytes.withBytes {
          SegmentFooter.decode(
            $0.slice(
              Int(header.geometry.footerOffset), $0.count - Int(header.geometry.footerOffset)),
            segment: segment, geometry: header.geometry, seed: header.identity.seed)
        })
    }
    return footers
  }

  /// Opens the store after the process that had it open has died.
  private func reopened(_ fixture: StoreFixture) throws -> (store: Store, calls: CallCounts) {
    let counting = CountingFileSystem(fixture.fileSystem)
    let store = try Store(
      at: fixture.path, options: fixture.options, fileSystem: counting)
    return (store, counting.counts)
  }

  @Test(.evidence("D3")) func `gives a footer to each segment that is full and durable`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    do {
      let store = try fixture.open()
      try write(store, 0..<400)
      let durable = store.statistics.newestGeneration.frame
      try write(store, 400..<600, .normal)
      let geometry = try header(fixture).geometry
      for (segment, footer) in try footers(fixture) {
        let isFull = geometry.lastFrame(of: segment) <= durable
        // The footer of a segment is written only when the next segment is half full.
        let isLate = segment + 1 >= geometry.segment(of: durable)
        if isFull, !isLate { #expect(footer != nil, "segment \(segment)") }
        if let footer { #expect(isFull && footer.point.frame <= durable, "segment \(segment)") }
      }
      try StoreFixture.expectSound(store)
    }
    let (store, _) = try reopened(fixture)
    #expect(store.recovery.segmentFooterCount >= 20)
    // The commits are the 600 writes and the commit that started the lineage.
    #expect(store.recovery.commitCount == 601)
    #expect(try store.snapshot().keyspace("k")?.get(599 % 50)?.first == UInt8(599 & 0xFF))
    try StoreFixture.expectSound(store)
    try store.close()
  }

  /// A footer would show that the commits of the other process are durable.
  @Test(.evidence("D3")) func `waits until the commits of other processes are synced`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    let store = try fixture.open()
    try write(store, 0..<200, .normal)
    try fixture.elsewhere().run { other in
      try write(other, 200..<240, .normal)
      #expect(try footers(fixture).values.allSatisfy { $0 == nil })
      try write(other, 240..<300)
      #expect(try footers(fixture).values.contains { $0 != nil })
    }
    try store.close()
  }

  /// The footer of this segment cannot be built, because the commits before the page file's state
  /// are no longer known.
  @Test func `skips the segment of the page file's state`() throws {
    try StoreFixture.inMemory(Self.options()).run { store in
      try write(store, 0..<10)
      try store.checkpoint()
      try write(store, 10..<200)
      let geometry = store.files.geometry
      let state = store.statistics.checkpointedGeneration.frame
      let fixture = store.files
      let scanner = try LogScanner(
        table: try fixture.log.openAll(from: 0, isMapped: false), geometry: geometry,
        seed: fixture.identity.seed, from: .empty)
      #expect(geometry.slot(of: state) > 1)
      #expect(try scanner.footer(of: geometry.segment(of: state)) == nil)
      #expect(try scanner.footer(of: geometry.segment(of: state) + 1) != nil)
    }
  }

  @Test func `makes opening read footers instead of headers`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    do { try write(try fixture.open(), 0..<1000) }
    let segmentCount = try footers(fixture).count
    #expect(segmentCount > 60)
    let (store, calls) = try reopened(fixture)
    // Opening reads the first frame and the footer of each segment, the few commits that extend
    // into the next segment, and every frame of the last segments.
    #expect(calls.reads <= segmentCount * 4 + Self.framesPerSegment * 5)
    // Opening works even though the log has more segments than the store keeps open.
    #expect(segmentCount > Limits.maxOpenSegmentCount)
    #expect(calls.opens <= segmentCount * 5)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test func `continues after the frames that a map covers`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    do {
      let store = try fixture.open()
      try write(store, 0..<5)
      let held = try store.snapshot()
      try write(store, 5..<100)
      try store.checkpoint()
      try write(store, 100..<300)
      #expect(try footers(fixture).values.count { $0 != nil } >= 10)
      withExtendedLifetime(held) {}
      try StoreFixture.expectSound(store)
    }
    let (store, _) = try reopened(fixture)
    #expect(store.recovery.segmentFooterCount >= 10)
    #expect(store.recovery.commitCount == 200)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  /// A reopened store writes a footer for each full segment that the earlier process left without a
  /// valid footer.
  @Test(.evidence("B2")) func `is repeated for a damaged footer`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    do { try write(try fixture.open(), 0..<400) }
    let geometry = try header(fixture).geometry
    let names = try fixture.names().filter { $0.hasPrefix("wal-") }
    for name in names.prefix(10) {
      let file = try #require(try fixture.fileSystem.open(fixture.path(of: name), .write))
      try file.write([0xEE], at: geometry.footerOffset + 30)
    }
    let damaged = try footers(fixture)
    #expect((0..<10).allSatisfy { damaged[$0] == .some(nil) })
    do {
      let (store, _) = try reopened(fixture)
      #expect(store.recovery.commitCount == 401)
      try write(store, 400..<420)
      try StoreFixture.expectSound(store)
    }
    let repaired = try footers(fixture)
    #expect((0..<10).allSatisfy { repaired[$0] != .some(nil) })
    let (store, _) = try reopened(fixture)
    #expect(store.recovery.commitCount == 421)
    #expect(try store.snapshot().keyspace("k")?.get(419 % 50)?.first == UInt8(419 & 0xFF))
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test func `lets old generations be found by token`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    let store = try fixture.open()
    var generations: [Generation] = []
    try write(store, 0..<1)
    let held = try store.snapshot()
    for number in 1..<200 {
      try write(store, number..<number + 1)
      generations.append(store.statistics.newestGeneration)
    }
    #expect(try footers(fixture).values.contains { $0 != nil })
    for (index, generation) in generations.enumerated() {
      let value = try store.snapshot(at: generation).keyspace("k")?.get((index + 1) % 50)
      #expect(value?.first == UInt8(index + 1))
    }
    withExtendedLifetime(held) {}
    try StoreFixture.expectSound(store)
    try store.close()
  }

  @Test(.evidence("B5")) func `is checked against the headers`() throws {
    let fixture = StoreFixture.inMemory(Self.options())
    let store = try fixture.open()
    try write(store, 0..<200)
    try StoreFixture.expectSound(store)
    let header = try header(fixture)
    let (segment, complete) = try #require(
      try footers(fixture).compactMap { $0.value == nil ? nil : ($0.key, $0.value) }.min {
        $0.0 < $1.0
      })
    let footer = try #require(complete)
    let changes: [(inout SegmentFooter) -> Void] = [
      { $0.point.digest += 1 }, { $0.point.pageCount += 1 }, { $0.commitCount -= 1 },
      { $0.rows.removeLast() }, { $0.point.time += 1 },
      { $0.rows[0] = SegmentFooter.Row(page: $0.rows[0].page, slot: 1, hash: $0.rows[0].hash) },
    ]
    for (index, change) in changes.enumerated() {
      var forged = footer
      change(&forged)
      #expect(forged != footer)
      try write(forged, to: segment, fixture, header)
      let findings = try store.verify().findings
      #expect(findings.count == 1, "change \(index)")
      #expect(findings.first?.contains("does not match") == true, "change \(index)")
    }
    try write(footer, to: segment, fixture, header)
    try StoreFixture.expectSound(store)
    try store.close()
  }

  private func write(
    _ footer: SegmentFooter, to segment: UInt64, _ fixture: StoreFixture, _ header: HeaderSlot
  ) throws {
    let block = ByteBlock(count: footer.byteCount)
    defer { block.keep() }
    footer.encode(
      to: block.bytes, segment: segment, geometry: header.geometry, seed: header.identity.seed)
    let name = header.geometry.segmentName(segment)
    let file = try #require(try fixture.fileSystem.open(fixture.path(of: name), .write))
    try file.write([block.bytes.bytes], at: header.geometry.footerOffset)
  }

  @Test func `is never done by a store opened for reading only`() throws {
    var options = Self.options()
    let fixture = StoreFixture.inMemory(options)
    do { try write(try fixture.open(), 0..<300) }
    let geometry = try header(fixture).geometry
    for name in try fixture.names() where name.hasPrefix("wal-") {
      let file = try #require(try fixture.fileSystem.open(fixture.path(of: name), .write))
      try file.write([0xEE], at: geometry.footerOffset + 30)
    }
    let before = try fixture.allBytes()
    options = fixture.options
    options.isReadOnly = true
    do {
      let store = try Store(
        at: fixture.path, options: options, fileSystem: fixture.fileSystem)
      #expect(store.recovery.segmentFooterCount == 0)
      #expect(store.recovery.commitCount == 301)
      try StoreFixture.expectSound(store)
      try store.close()
    }
    let isUnchanged = try fixture.allBytes() == before
    #expect(isUnchanged)
  }

  @Test(.evidence("F5"), arguments: [StorageError.Kind.diskFull, .io])
  func `harms no commit and no checkpoint if it fails`(kind: StorageError.Kind) throws {
    let files = ObservedFileSystem(MemoryFileSystem())
    let fixture = StoreFixture.on(files, Self.options())
    var failureCount = 0
    // Only footers are written at this offset.
    files.onWrite = { path, offset throws(StorageError) in
      guard path.contains("/wal-"), offset == UInt64(Self.framesPerSegment - 1) * 4096 else {
        return
      }
      failureCount += 1
      throw StorageError(kind, "Injected failure of writing a footer.", file: path)
    }
    do {
      let store = try fixture.open()
      try write(store, 0..<200)
      let held = try store.snapshot()
      try write(store, 200..<300)
      try store.checkpoint()
      try write(store, 300..<400)
      withExtendedLifetime(held) {}
      #expect(failureCount >= 10)
      #expect(try footers(fixture).values.allSatisfy { $0 == nil })
      try StoreFixture.expectSound(store)
    }
    let (store, _) = try reopened(fixture)
    #expect(store.recovery.segmentFooterCount == 0)
    #expect(try store.snapshot().keyspace("k")?.get(399 % 50)?.first == UInt8(399 & 0xFF))
    try StoreFixture.expectSound(store)
    try store.close()
  }
}
