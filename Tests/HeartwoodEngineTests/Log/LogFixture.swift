import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A log in memory with segments of six frames, written by the real writer or by hand.
final class LogFixture {
  static let pageByteCount = 4096
  static let identity = StoreIdentity(high: 11, low: 0xABCD_EF01_2345_6789)

  let fileSystem = MemoryFileSystem()
  let geometry: Geometry
  let files: LogFiles
  /// Where the next commit goes on; may be set back to write over what is there.
  var point = CommitPoint.empty
  var lineage: UInt64 = 7
  /// The witness in the headers of the next commit.
  var durableUpTo: FrameNumber = 0

  init() throws {
    try fileSystem.createDirectory("/log")
    geometry = try #require(
      Geometry(pageByteCount: Self.pageByteCount, segmentByteCount: Self.pageByteCount * 8))
    files = LogFiles(
      fileSystem: fileSystem, directory: "/log", geometry: geometry, identity: Self.identity,
      isMapped: false, isWritable: true)
  }

  var seed: UInt64 { Self.identity.seed }

  // MARK: Writing

  /// Appends a commit of pages with these numbers, at `base` or behind the one before.
  @discardableResult
  func commit(_ pages: [PageNumber], base: FrameNumber? = nil) throws -> CommitPoint {
    let base = base ?? geometry.next(after: point.frame)
    let supply = SegmentSupply(files: files) { _ throws(StorageError) in }
    var segments = try files.openAll(from: 0, isMapped: false).segments
    let first = geometry.segment(of: base)
    if !segments.contains(where: { $0.number == first }) {
      segments += try supply.take(first, through: first, lineage: lineage)
    }
    var writer = LogWriter(
      files: files, table: SegmentTable(segments), after: point, lineage: lineage, base: base,
      durableUpTo: durableUpTo, supply: supply)
    let blocks = pages.map { page in
      let block = ByteBlock(count: Self.pageByteCount)
      block.bytes.store32(page, PageLayout.page.offset)
      block.bytes.store8(PageKind.bitmap.rawValue, PageLayout.kind.offset)
      block.bytes.store64(base, 100)
      return block
    }
    let images = zip(pages, blocks).map { LogWriter.Image(page: $0, bytes: $1.bytes) }
    let pageCount = (pages.max() ?? 0) + 1
    let written = try withExtendedLifetime(blocks) {
      try writer.commit(images, pageCount: pageCount, time: 1000 + base)
    }
    point = written.point
    return point
  }

  /// The bytes of a frame; `nil` if its segment is missing.
  func bytes(at frame: FrameNumber) throws -> [UInt8]? {
    try fileSystem.open(files.path(geometry.segment(of: frame)), .read)?
      .bytes(at: geometry.offset(of: frame), Self.pageByteCount)
  }

  /// Writes over a frame; its segment must be there.
  func write(_ bytes: [UInt8], at frame: FrameNumber) throws {
    let file = try #require(
      try fileSystem.open(files.path(geometry.segment(of: frame)), .write))
    try file.write(bytes, at: geometry.offset(of: frame))
  }

  /// Changes one byte of a frame.
  func flip(_ offset: Int, of frame: FrameNumber) throws {
    var bytes = try #require(try bytes(at: frame))
    bytes[offset] ^= 0x40
    try write(bytes, at: frame)
  }

  /// All frames from the one after `frame` on, to be written back later.
  func frames(after frame: FrameNumber) throws -> [FrameNumber: [UInt8]] {
    var result: [FrameNumber: [UInt8]] = [:]
    var next = geometry.next(after: frame)
    while let bytes = try bytes(at: next) {
      result[next] = bytes
      next = geometry.next(after: next)
    }
    return result
  }

  // MARK: Reading

  func scanner(from point: CommitPoint = .empty) throws -> LogScanner {
    try LogScanner(
      table: try files.openAll(from: 0, isMapped: false), geometry: geometry, seed: seed,
      from: point)
  }

  /// Every commit a scanner finds.
  func commits(from point: CommitPoint = .empty) throws -> [ScannedCommit] {
    var scanner = try scanner(from: point)
    var commits: [ScannedCommit] = []
    while let commit = try scanner.next() { commits.append(commit) }
    return commits
  }

  /// What recovery makes of this log behind an empty page file.
  func recovery(witness: FrameNumber = 0) throws -> Recovery {
    let header = HeaderSlot(
      geometry: geometry, identity: Self.identity, sequence: 1, backfilled: .empty,
      durableUpTo: witness, lineages: [])
    return try Recovery(
      header: header, slots: [header, nil], table: try files.openAll(from: 0, isMapped: false))
  }
}
