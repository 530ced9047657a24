import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests logs with void ranges, several lineages, gaps, or files with unexpected names.
@Suite("A log of unusual shape")
struct LogLineageTests {
  /// Writes two groups by hand, the second of which has the given void ranges.
  private func writeVoids(
    _ log: LogFixture, _ voids: [(first: FrameNumber, last: FrameNumber)]
  ) throws {
    try log.commit([10, 11, 12, 10, 13])
    let sealed = try #require(try log.scanner().header(at: 1)).header
    var first = HandMadeGroup(frame: 1, base: 1)
    first.isCommit = false
    first.images = sealed.images.map { ($0.page, $0.hash) }
    let firstBytes = first.bytes(pageByteCount: LogFixture.pageByteCount, seed: log.seed)
    try log.write(firstBytes, at: 1)
    var second = HandMadeGroup(frame: 9, base: 1)
    second.ordinal = 1
    second.previous = HandMadeGroup.digest(of: firstBytes)
    second.pageCount = 14
    second.voids = voids
    let allocator = try log.allocator()
    _ = try allocator.allocate(1, through: 1, lineage: 7)
    try log.write(
      second.bytes(pageByteCount: LogFixture.pageByteCount, seed: log.seed), at: 9)
  }

  @Test(
    arguments: [
      ([], [10, 11, 12, 10, 13]), ([(3, 4)], [10, 10, 13]), ([(2, 2), (6, 6)], [11, 12, 10]),
      ([(2, 6)], []), ([(0, UInt64.max)], []), ([(5, 4)], [10, 11, 12, 10, 13]),
      ([(2, 4), (3, 5)], [13]), ([(100, 200)], [10, 11, 12, 10, 13]),
    ] as [([(first: FrameNumber, last: FrameNumber)], [PageNumber])])
  func `skips the images in void ranges`(
    voids: [(first: FrameNumber, last: FrameNumber)], pages: [PageNumber]
  ) throws {
    let log = try LogFixture()
    try writeVoids(log, voids)
    let found = try log.commits()
    #expect(found.map { $0.images.map(\.page) } == [pages])
    #expect(found.map(\.point.frame) == [9])
    #expect(try log.recovery().point.frame == 9)
  }

  @Test(.evidence("D2")) func `does not need the images in a void range`() throws {
    let log = try LogFixture()
    try writeVoids(log, [(3, 4)])
    try log.flip(200, of: 3)
    try log.flip(200, of: 4)
    let recovery = try log.recovery()
    #expect(recovery.point.frame == 9)
    #expect(recovery.index.frame(of: 10) == 5)
    #expect(recovery.index.frame(of: 11) == 0)
    try log.flip(200, of: 6)
    #expect(try log.recovery().point == .empty)
  }

  // MARK: Lineages

  @Test(.evidence("D7")) func `continues in a lineage that starts in a later segment`() throws {
    let log = try LogFixture()
    try log.commit([1])
    let first = try log.commit([2])
    log.lineage = 8
    let seal = try log.commit([], base: log.geometry.firstFrame(of: 1))
    let second = try log.commit([3])
    let found = try log.commits()
    #expect(found.map(\.point).suffix(3) == [first, seal, second])
    #expect(found[2].ended == EndedLineage(lineage: 7, end: first.frame))
    #expect(found[3].ended == nil)
    let recovery = try log.recovery()
    #expect(recovery.point == second)
    #expect(recovery.lineages.last == EndedLineage(lineage: 7, end: first.frame))
  }

  /// Recovery discards a torn commit and begins a new lineage after it.
  ///
  /// In an earlier version, the commits of the new lineage contained durable watermarks above the
  /// frames of the torn commit. The next recovery then considered the torn commit synced, did not
  /// verify its images, and continued the log after it.
  @Test(.evidence("D9"), .evidence("D1"), arguments: [1, 2, 5] as [UInt64])
  func `prefers a later lineage to a torn commit in place`(segment: UInt64) throws {
    let log = try LogFixture()
    let first = try log.commit([1, 2])
    let torn = try log.commit([3])
    try log.flip(500, of: torn.frame)
    #expect(try log.recovery().point == first)
    log.point = first
    log.lineage = 8
    log.durableUpTo = first.frame
    let seal = try log.commit([], base: log.geometry.firstFrame(of: segment))
    log.durableUpTo = seal.frame
    let second = try log.commit([2, 4])
    log.durableUpTo = second.frame
    let third = try log.commit([5])
    #expect(try log.commits().map(\.point) == [first, seal, second, third])
    let recovery = try log.recovery()
    #expect(recovery.point == third)
    #expect(recovery.index.frame(of: 3) == 0)
    #expect(recovery.lineages.last == EndedLineage(lineage: 7, end: first.frame))
  }

  @Test(.evidence("D9")) func `continues with the first of several lineages that could follow`()
    throws
  {
    let log = try LogFixture()
    let first = try log.commit([1])
    log.lineage = 8
    let seal = try log.commit([], base: log.geometry.firstFrame(of: 2))
    log.point = first
    log.lineage = 9
    try log.commit([], base: log.geometry.firstFrame(of: 4))
    #expect(try log.commits().map(\.point) == [first, seal])
  }

  @Test(.evidence("D9")) func `skips a lineage whose start commit is torn`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    log.lineage = 8
    let lost = try log.commit([], base: log.geometry.firstFrame(of: 1))
    try log.flip(60, of: lost.frame)
    log.point = first
    log.lineage = 9
    let seal = try log.commit([], base: log.geometry.firstFrame(of: 2))
    #expect(try log.commits().map(\.point) == [first, seal])
    #expect(try log.recovery().point == seal)
  }

  @Test(.evidence("D10")) func `is corrupt if something synced is missing`() throws {
    let log = try LogFixture()
    try log.commit([1])
    let second = try log.commit([2])
    log.durableUpTo = second.frame
    try log.commit([3])
    try log.flip(50, of: 3)
    #expect(try log.commits().map(\.point.frame) == [2])
    #expect(throws: StorageError.self) { try log.recovery() }
    do { _ = try log.recovery() } catch let error as StorageError {
      #expect(error.kind == .corrupt)
      #expect(error.file == "wal-0000000000000001")
    }
  }

  @Test(.evidence("D10")) func `ends where its unsynced tail is torn`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    let second = try log.commit([2])
    try log.commit([3])
    try log.flip(50, of: log.geometry.next(after: second.frame))
    #expect(try log.recovery().point == second)
    try log.flip(700, of: second.frame)
    #expect(try log.recovery().point == first)
    #expect(try log.recovery().report.discardedFrameCount > 0)
    // The same log is corrupt if a header slot contains a higher watermark.
    #expect(throws: StorageError.self) {
      try log.recovery(durableWatermark: log.geometry.next(after: 4))
    }
  }

  /// A commit is incomplete if one of its segments is missing.
  ///
  /// Below the durable watermark, an incomplete commit is corrupt.
  @Test(.evidence("D10"), arguments: 1...3 as ClosedRange<UInt64>)
  func `is corrupt if a segment of a synced commit is missing`(segment: UInt64) throws {
    let log = try LogFixture()
    try log.commit([1, 2])
    let second = try log.commit((0..<20).map { $0 })
    #expect(log.geometry.segment(of: second.frame) == 3)
    log.durableUpTo = second.frame
    try log.commit([5])
    try log.files.remove(segment)
    let error = #expect(throws: StorageError.self) { try log.recovery() }
    #expect(error?.kind == .corrupt)
  }

  /// Only a commit that starts a new lineage may skip frames.
  @Test(.evidence("D2")) func `ends before a later segment that continues its lineage`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    try log.commit([2], base: log.geometry.firstFrame(of: 1))
    #expect(try log.commits().map(\.point) == [first])
    #expect(try log.recovery().point == first)
  }

  /// When recovery finds an incomplete commit, it reads the log again, up to the last complete
  /// commit.
  @Test(.evidence("D7")) func `ends each lineage once, however often the log is read`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    log.lineage = 8
    try log.commit([], base: log.geometry.firstFrame(of: 1))
    let second = try log.commit([2])
    let torn = try log.commit([3])
    try log.flip(500, of: torn.frame)
    let recovery = try log.recovery()
    #expect(recovery.point == second)
    #expect(recovery.lineages.filter { $0.lineage == 7 }.map(\.end) == [first.frame])
  }

  /// Recovery does not verify images below the durable watermark, so their damage is detected only
  /// when the pages are read.
  @Test(.evidence("D10")) func `continues after a damaged image that was synced`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    log.durableUpTo = first.frame
    let second = try log.commit([2])
    try log.flip(500, of: first.frame)
    #expect(try log.recovery().point == second)
    #expect(try log.recovery().report.verifiedCommitCount == 1)
  }

  /// Readers allocate memory for as many pages as a commit claims to have.
  @Test(.evidence("B2")) func `is corrupt if a commit counts pages that were not created`() throws {
    let log = try LogFixture()
    let bitmap = PageNumber(BitmapLayout.pagesPerBitmap(pageByteCount: LogFixture.pageByteCount))
    let complete = try log.commit([1, bitmap, bitmap + 3])
    #expect(try log.recovery().point == complete)
    try log.commit([2 * bitmap + 1])
    let error = #expect(throws: StorageError.self) { try log.recovery() }
    #expect(error?.kind == .corrupt)
    #expect(error?.file == "wal-0000000000000001")
  }

  // MARK: Gaps and names

  @Test func `may have gaps in its segment numbers`() throws {
    let log = try LogFixture()
    let first = try log.commit([1])
    log.lineage = 8
    let seal = try log.commit([], base: log.geometry.firstFrame(of: 40))
    let table = try log.files.openAll(from: 0, isMapped: false)
    #expect(table.segments.map(\.number) == [0, 40])
    #expect(table.regionCount == 41)
    #expect(table[40]?.number == 40)
    #expect(table[1] == nil)
    #expect(table[41] == nil)
    #expect(table[.max] == nil)
    #expect(try log.commits().map(\.point) == [first, seal])
    #expect(table.dropping(below: 1, []).segments.map(\.number) == [40])
  }

  @Test(
    .evidence("B2"),
    arguments: [
      "wal-0000000010000001", "wal-7ffffffffffffff1", "wal-fffffffffffffff9",
      "wal-8000000000000001",
    ])
  func `is corrupt if a segment number is too far away`(name: String) throws {
    let log = try LogFixture()
    try log.commit([1])
    let segment = log.geometry.segment(named: name)
    _ = try log.fileSystem.open("/log/" + name, .create)
    guard segment != nil else {
      // The name is not valid for a segment in this geometry, so the file is not part of the log.
      #expect(try log.files.existing() == [0])
      return
    }
    #expect(throws: StorageError.self) { try log.files.openAll(from: 0, isMapped: false) }
    do { _ = try log.files.openAll(from: 0, isMapped: false) } catch {
      #expect(error.kind == .corrupt)
      #expect(error.file == name)
    }
  }
}
