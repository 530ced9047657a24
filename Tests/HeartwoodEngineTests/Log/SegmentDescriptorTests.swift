import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which segments of the log a store keeps open.
///
/// The segments are small, and each commit fills a large part of a segment. There are therefore
/// dozens of segments, but fewer than the limit on open segments.
@Suite("The segments of a mapped log")
struct SegmentDescriptorTests {
  private static let segmentCount = 20

  private func options(_ access: StoreOptions.Access) -> StoreOptions {
    var options = StoreOptions()
    options.access = access
    options.segmentByteCount = 32 << 10
    options.checkpointLogByteCount = 0
    options.maintenance = .inline
    return options
  }

  /// Returns the names of the segments for which this process has open descriptors.
  private func openSegments(_ fixture: StoreFixture) throws -> [String] {
    try fixture.names().filter { $0.hasPrefix("wal-") && fixture.descriptorCount(of: $0) > 0 }
      .sorted()
  }

  private func names(_ fixture: StoreFixture) throws -> [String] {
    try fixture.names().filter { $0.hasPrefix("wal-") }.sorted()
  }

  /// Expects that only the current segment, and at most two segments created in advance, have
  /// descriptors.
  private func expectNewestOnly(
    _ fixture: StoreFixture, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let newest = try names(fixture).suffix(3)
    let open = try openSegments(fixture)
    #expect(open.allSatisfy(newest.contains), "\(open)", sourceLocation: location)
  }

  /// Commits until the log has many segments.
  private func fill(
    _ store: Store, _ fixture: StoreFixture, _ durability: StoreOptions.Durability
  ) throws {
    let wanted = try names(fixture).count + Self.segmentCount
    var key = 0
    while try names(fixture).count < wanted {
      try store.write(durability: durability) {
        try $0.keyspace("k").put(key % 7, [UInt8](repeating: UInt8(key & 255), count: 3000))
      }
      key += 1
    }
  }

  @Test(.evidence("F7")) func `have no descriptor once they are full and durable`() throws {
    let fixture = try StoreFixture.onDisk(options(.mapped))
    let store = try fixture.open()
    try fill(store, fixture, .full)
    try expectNewestOnly(fixture)
    try fill(store, fixture, .normal)
    #expect(try openSegments(fixture).count > 2)
    try store.write(durability: .full) { try $0.keyspace("k").put(1, [1]) }
    try expectNewestOnly(fixture)
    let snapshot = try store.snapshot()
    try StoreFixture.expectSound(store)
    for key in 0..<7 { #expect(try snapshot.keyspace("k")?.get(key) != nil) }
    try expectNewestOnly(fixture)
    withExtendedLifetime(store) {}
  }

  @Test(.evidence("F7")) func `have no descriptor after the store is reopened`() throws {
    let fixture = try StoreFixture.onDisk(options(.mapped))
    do {
      let store = try fixture.open()
      try fill(store, fixture, .full)
    }
    let store = try fixture.open()
    try expectNewestOnly(fixture)
    for key in 0..<7 { #expect(try store.snapshot().keyspace("k")?.get(key) != nil) }
    try expectNewestOnly(fixture)
    try store.close()
  }

  @Test(.evidence("F7")) func `have no descriptor in a process that has read or written them`()
    throws
  {
    let fixture = try StoreFixture.onDisk(options(.mapped))
    let store = try fixture.open()
    let other = try fixture.elsewhere().open()
    try fill(store, fixture, .normal)
    #expect(try other.snapshot().keyspace("k")?.get(1) != nil)
    // A `.full` commit also syncs the commits made by the first store.
    try other.write(durability: .full) { try $0.keyspace("k").put(1, [1]) }
    #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    try fill(store, fixture, .full)
    #expect(try other.snapshot().keyspace("k")?.get(1) != nil)
    try expectNewestOnly(fixture)
    try StoreFixture.expectSound(other)
    try store.close()
    try other.close()
  }

  @Test(.evidence("F7")) func `keep some descriptors in buffered reading`() throws {
    let fixture = try StoreFixture.onDisk(options(.buffered))
    let store = try fixture.open()
    try fill(store, fixture, .full)
    let count = try openSegments(fixture).count
    #expect(count > 2 && count <= Limits.maxOpenSegmentCount)
    try store.close()
  }

  @Test(.evidence("F7"))
  func `count as deleted if they were replaced while they had no descriptor`() throws {
    let fixture = try StoreFixture.onDisk(options(.mapped))
    let store = try fixture.open()
    try fill(store, fixture, .full)
    let log = store.files.log
    let table = try log.openAll(from: 0, isMapped: true)
    log.closeMapped(upTo: store.files.counters.durable)
    let segment = table.segments[1].file
    #expect(try segment.exists())
    log.closeMapped(upTo: store.files.counters.durable)
    let bytes = try fixture.bytes(of: log.geometry.segmentName(table.segments[1].number))
    try log.remove(table.segments[1].number)
    try fixture.write(bytes, to: log.geometry.segmentName(table.segments[1].number))
    #expect(try !segment.exists())
    let block = ByteBlock(count: 64)
    defer { block.keep() }
    #expect(try segment.read(into: block.bytes, at: 0) == 0)
    let error = #expect(throws: StorageError.self) {
      try segment.writeUnpromised(block.bytes.bytes, at: 0)
    }
    #expect(error?.changedNothing == true)
    try store.close()
  }
}

extension StoreFixture {
  /// Returns the number of descriptors of this process that refer to the given file of the store.
  fileprivate func descriptorCount(of name: String) -> Int {
    guard let identity = try? fileSystem.identity(of: path(of: name)) else { return 0 }
    return descriptors(on: [identity]).count
  }
}
