import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A log in memory with small segments, written either by the engine or by hand.
///
/// By default, a segment has six frames.
final class LogFixture {
  static let pageByteCount = 4096
  static let identity = StoreIdentity(high: 11, low: 0xABCD_EF01_2345_6789)

  let fileSystem = MemoryFileSystem()
  let geometry: Geometry
  let files: LogFiles
  /// The commit after which the next commit is appended.
  ///
  /// Tests set this property to an earlier commit to overwrite frames.
  var point = CommitPoint.empty
  var lineage: UInt64 = 7
  /// The durable watermark that is written to the headers of the next commits.
  var durableUpTo: FrameNumber = 0

  init(framesPerSegment: Int = 8) throws {
    try fileSystem.createDirectory("/log")
    geometry = try #require(
      Geometry(
        pageByteCount: Self.pageByteCount,
        segmentByteCount: Self.pageByteCount * framesPerSegment))
    files = LogFiles(
      fileSystem: fileSystem, directory: "/log", geometry: geometry, identity: Self.identity,
      isMapped: false, isWritable: true)
  }

  var seed: UInt64 { Self.identity.seed }

  /// Returns an allocator for new segments, which also makes their names durable.
  ///
  /// - Parameter activity: The counters to which the allocator adds its syncs.
  func allocator(
    counting activity: ActivityCounters = ActivityCounters()
  ) throws -> SegmentAllocator {
    let locks = try #require(try fileSystem.open("/log/locks", .create))
    return SegmentAllocator(
      files: files, making: ExclusiveByte(LockByte.allocator, of: locks), counters: nil,
      activity: activity)
  }

  // MARK: Writing

  /// Appends a commit of pages with the given numbers, either at `base` or after the previous
  /// commit.
  @discardableResult
  func commit(_ pages: [PageNumber], base: FrameNumber? = nil) throws -> CommitPoint {
    var writer = try writer(base: base)
    let written = try Self.withImages(pages) { images in
      try writer.commit(
        images, pageCount: (pages.max() ?? 0) + 1,
        time: 1000 + (base ?? geometry.next(after: point.frame)))
    }
    point = written.point
    return point
  }

  /// Returns a writer for a transaction, either at `base` or after the previous commit.
  func writer(base: FrameNumber? = nil) throws -> LogWriter {
    let base = base ?? geometry.next(after: point.frame)
    let allocator = try allocator()
    var segments = try files.openAll(from: 0, isMapped: false).segments
    let first = geometry.segment(of: base)
    if !segments.contains(where: { $0.number == first }) {
      segments += try allocator.allocate(first, through: first, lineage: lineage)
    }
    return LogWriter(
      files: files, table: SegmentTable(segments), after: point, lineage: lineage, base: base,
      durableUpTo: durableUpTo, allocator: allocator)
  }

  /// Calls `body` with images of pages that have the given numbers.
  static func withImages<R>(
    _ pages: [PageNumber], _ body: ([LogWriter.Image]) throws -> R
  ) rethrows -> R {
    let blocks = pages.map { page in
      let block = ByteBlock(count: pageByteCount)
      block.bytes.store32(page, PageLayout.page.offset)
      block.bytes.store8(PageKind.bitmap.rawValue, PageLayout.kind.offset)
      return block
    }
    return try withExtendedLifetime(blocks) {
      try body(zip(pages, blocks).map { LogWriter.Image(page: $0, bytes: $1.bytes) })
    }
  }

  /// Returns the bytes of a frame, or `nil` if the frame's segment is missing.
  func bytes(at frame: FrameNumber) throws -> [UInt8]? {
    try fileSystem.open(files.path(geometry.segment(of: frame)), .read)?
      .bytes(at: geometry.offset(of: frame), Self.pageByteCount)
  }

  /// Overwrites a frame; its segment must exist.
  func write(_ bytes: [UInt8], at frame: FrameNumber) throws {
    let file = try #require(
      try fileSystem.open(files.path(geometry.segment(of: frame)), .write))
    try file.write(bytes, at: geometry.offset(of: frame))
  }

  /// Changes one byte of the given frame.
  func flip(_ offset: Int, of frame: FrameNumber) throws {
    var bytes = try #require(try bytes(at: frame))
    bytes[offset] ^= 0x40
    try write(bytes, at: frame)
  }

  /// Returns the bytes of all frames after `frame`, so that a test can write them back later.
  func frames(after frame: FrameNumber) throws -> [FrameNumber: [UInt8]] {
    var result: [FrameNumber: [UInt8]] = [:]
    var next = geometry.next(after: frame)
    while let bytes = try bytes(at: next) {
      result[next] = bytes
      next = geometry.next(after: next)
    }
    return result
  }

  func write(_ footer: SegmentFooter, to segment: UInt64) throws {
    let block = ByteBlock(count: geometry.footerFrames * Self.pageByteCount)
    defer { block.keep() }
    footer.encode(to: block.bytes, segment: segment, geometry: geometry, seed: seed)
    let file = try #require(try fileSystem.open(files.path(segment), .write))
    try file.write([block.bytes.bytes], at: geometry.footerOffset)
  }

  /// Returns the footers that agree with the headers in all full segments, keyed by segment.
  func footers() throws -> [UInt64: SegmentFooter] {
    var builders: [UInt64: SegmentFooterBuilder] = [:]
    let commits = try commits()
    for commit in commits {
      let segment = geometry.segment(of: commit.point.frame)
      builders[segment, default: SegmentFooterBuilder(segment: segment, geometry: geometry)]
        .add(commit)
    }
    let last = commits.last?.point.frame ?? 0
    return builders.filter { geometry.lastFrame(of: $0.key) <= last }.mapValues(\.footer)
  }

  /// Writes the footers of all full segments and returns their number.
  @discardableResult
  func seal() throws -> Int {
    let footers = try footers()
    for (segment, footer) in footers { try write(footer, to: segment) }
    return footers.count
  }

  // MARK: Reading

  func scanner(from point: CommitPoint = .empty) throws -> LogScanner {
    try LogScanner(
      table: try files.openAll(from: 0, isMapped: false), geometry: geometry, seed: seed,
      from: point)
  }

  /// Returns all commits that a scanner finds.
  func commits(from point: CommitPoint = .empty) throws -> [LogStep] {
    var scanner = try scanner(from: point)
    var commits: [LogStep] = []
    while let commit = try scanner.next() { commits.append(commit) }
    return commits
  }

  /// Runs recovery on this log, with a page file that is empty or contains the given state.
  func recovery(
    durableWatermark: FrameNumber = 0, behind checkpointed: CommitPoint = .empty
  ) throws -> Recovery {
    let header = HeaderSlot(
      geometry: geometry, identity: Self.identity, sequence: 1, checkpointed: checkpointed,
      durableUpTo: durableWatermark, lineages: [])
    return try Recovery(
      header: header, slots: [header, nil],
      start: try #require(try LogStart(header: header, log: files)),
      table: try files.openAll(from: 0, isMapped: false))
  }
}
