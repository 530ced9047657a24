import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests how segments are allocated for a writer, both on demand and in advance.
@Suite("A segment allocator")
struct SegmentAllocatorTests {
  @Test(.evidence("D4")) func `never recreates a segment that a writer has allocated`() throws {
    let log = try LogFixture()
    let allocator = try log.allocator()
    _ = try allocator.allocate(0, through: 3, lineage: 7)
    let written = [UInt8](repeating: 5, count: LogFixture.pageByteCount)
    for segment: UInt64 in 0...3 {
      try log.write(written, at: log.geometry.firstFrame(of: segment))
    }
    // The caller knows only a state that is older than the allocation of these segments.
    try allocator.refill(lineage: 7) { 1 }
    for segment: UInt64 in 0...3 {
      let isKept = try log.bytes(at: log.geometry.firstFrame(of: segment)) == written
      #expect(isKept, "segment \(segment)")
    }
    #expect(try log.files.existing() == [0, 1, 2, 3, 4, 5])
  }

  /// Another process has appended commits, and its maintenance run has punched out a segment
  /// header.
  @Test(.evidence("D13")) func `never recreates a segment that commits have reached`() throws {
    let log = try LogFixture()
    let allocator = try log.allocator()
    _ = try allocator.allocate(0, through: 3, lineage: 7)
    let written = [UInt8](repeating: 5, count: LogFixture.pageByteCount)
    try log.write(written, at: log.geometry.firstFrame(of: 1))
    let file = try #require(try log.fileSystem.open(log.files.path(1), .write))
    _ = try file.punch(0..<UInt64(LogFixture.pageByteCount))
    var newest: FrameNumber = 1
    try log.allocator().refill(lineage: 7) {
      defer { newest = log.geometry.firstFrame(of: 3) }
      return newest
    }
    #expect(try log.bytes(at: log.geometry.firstFrame(of: 1)) == written)
  }

  /// The caller does not know which segments the other process has allocated.
  @Test(.evidence("D4")) func `never recreates a segment of another process`() throws {
    let log = try LogFixture()
    let (one, other) = (try log.allocator(), try log.allocator())
    _ = try one.allocate(0, through: 2, lineage: 7)
    let written = [UInt8](repeating: 5, count: LogFixture.pageByteCount)
    for segment: UInt64 in 0...2 {
      try log.write(written, at: log.geometry.firstFrame(of: segment))
    }
    try other.refill(lineage: 7) { log.geometry.firstFrame(of: 0) }
    _ = try other.allocate(1, through: 2, lineage: 7)
    for segment: UInt64 in 0...2 {
      let isKept = try log.bytes(at: log.geometry.firstFrame(of: segment)) == written
      #expect(isKept, "segment \(segment)")
    }
  }

  @Test func `recreates segments that a writer has reclaimed`() throws {
    let log = try LogFixture()
    let allocator = try log.allocator()
    _ = try allocator.allocate(0, through: 0, lineage: 7)
    _ = try allocator.allocate(1, through: 3, lineage: 7)
    try allocator.refill(lineage: 7) { 1 }
    #expect(try log.files.existing() == [0, 1, 2, 3, 4, 5])
    allocator.reclaim(after: 0)
    // The segment files have been truncated, but not removed, so their names remain durable.
    #expect(try log.files.existing() == [0, 1, 2, 3, 4, 5])
    for segment: UInt64 in 1...5 {
      let file = try #require(try log.fileSystem.open(log.files.path(segment), .read))
      #expect(try file.byteCount() == 0, "segment \(segment)")
    }
    try allocator.refill(lineage: 7) { 1 }
    #expect(try log.bytes(at: log.geometry.firstFrame(of: 1))?.count == LogFixture.pageByteCount)
    #expect(try allocator.allocate(1, through: 2, lineage: 7).map(\.number) == [1, 2])
    for segment: UInt64 in 1...2 {
      let file = try #require(try log.fileSystem.open(log.files.path(segment), .read))
      #expect(try file.byteCount() == UInt64(log.geometry.segmentByteCount), "segment \(segment)")
    }
  }

  /// The allocator does not use the counters yet, and there is a reserve.
  @Test(.evidence("D1"), .evidence("D4"))
  func `makes each name durable while a store is being opened`() throws {
    let log = try LogFixture()
    let activity = ActivityCounters()
    let allocator = try log.allocator(counting: activity)
    try allocator.fillReserve()
    for segment: UInt64 in 0...2 {
      _ = try allocator.allocate(segment, through: segment, lineage: 7)
      #expect(activity.current.directorySyncCount == Int(segment) + 1)
    }
  }
}
