/// The layout of a segment footer, which summarises the segment's frames and is stored after them.
///
///     0       4       8      16           24      32       40        48     56
///     ┌───────┬───────┬──────┬────────────┬───────┬────────┬─────────┬──────┐
///     │ magic │ count │ hash │ firstFrame │ frame │ digest │ lineage │ time │
///     └───────┴───────┴──────┴────────────┴───────┴────────┴─────────┴──────┘
///     56          60            64
///     ┌───────────┬─────────────┬───────────────────────────────────────────┐
///     │ pageCount │ commitCount │ rows: page u32, slot u32, hash u64        │
///     └───────────┴─────────────┴───────────────────────────────────────────┘
///
/// The hash, seeded with the store's identity, covers the bytes from offset 16 to the end of the
/// rows.
package enum SegmentFooterLayout {
  package static let magic = Field("magic", at: 0, 4)
  package static let count = Field("count", at: 4, 4)
  package static let hash = Field("hash", at: 8, 8)
  package static let firstFrame = Field("firstFrame", at: 16, 8)
  package static let frame = Field("frame", at: 24, 8)
  package static let digest = Field("digest", at: 32, 8)
  package static let lineage = Field("lineage", at: 40, 8)
  package static let time = Field("time", at: 48, 8)
  package static let pageCount = Field("pageCount", at: 56, 4)
  package static let commitCount = Field("commitCount", at: 60, 4)
  package static let fields = [
    magic, count, hash, firstFrame, frame, digest, lineage, time, pageCount, commitCount,
  ]
  package static let rows = 64
  package static let rowByteCount = 16
  /// "HWFT" as a little-endian number.
  package static let magicNumber: UInt32 = 0x5446_5748
}

/// A summary of a segment whose frames are all durable.
///
/// A footer is a cache that a scanner can read instead of the group headers. The footer is written
/// only after its last commit is known to be synced, so a valid footer also serves as a durable
/// watermark.
package struct SegmentFooter: Hashable, Sendable {
  /// The position and hash of the newest image of a page within the segment.
  package struct Row: Hashable, Sendable {
    package let page: PageNumber
    package let slot: UInt32
    package let hash: UInt64

    package init(page: PageNumber, slot: UInt32, hash: UInt64) {
      self.page = page
      self.slot = slot
      self.hash = hash
    }
  }

  /// The last commit that ends in the segment.
  package var point: CommitPoint
  package var commitCount: Int
  /// The newest image of each page, in page order.
  ///
  /// If a transaction continues in the next segment, the images of that transaction are not listed.
  package var rows: [Row]

  package init(point: CommitPoint, commitCount: Int, rows: [Row]) {
    self.point = point
    self.commitCount = commitCount
    self.rows = rows
  }

  /// The length of the footer in bytes.
  ///
  /// The footer always fits in the segment's footer slots.
  package var byteCount: Int {
    SegmentFooterLayout.rows + rows.count * SegmentFooterLayout.rowByteCount
  }

  package func encode(
    to target: MutableBytes, segment number: UInt64, geometry: Geometry, seed: UInt64
  ) {
    typealias Layout = SegmentFooterLayout
    target.store32(Layout.magicNumber, Layout.magic.offset)
    target.store32(UInt32(rows.count), Layout.count.offset)
    target.store64(geometry.firstFrame(of: number), Layout.firstFrame.offset)
    target.store64(point.frame, Layout.frame.offset)
    target.store64(point.digest, Layout.digest.offset)
    target.store64(point.lineage, Layout.lineage.offset)
    target.store64(point.time, Layout.time.offset)
    target.store32(point.pageCount, Layout.pageCount.offset)
    target.store32(UInt32(commitCount), Layout.commitCount.offset)
    var offset = Layout.rows
    for row in rows {
      target.store32(row.page, offset)
      target.store32(row.slot, offset + 4)
      target.store64(row.hash, offset + 8)
      offset += Layout.rowByteCount
    }
    let covered = Layout.firstFrame.offset
    let hash = XXH64.hash(target.bytes.slice(covered, offset - covered), seed: seed)
    target.store64(hash, Layout.hash.offset)
  }

  /// Decodes the footer, or returns `nil` if the bytes are not an intact footer of segment
  /// `number`.
  package static func decode(
    _ bytes: Bytes, segment number: UInt64, geometry: Geometry, seed: UInt64
  ) -> SegmentFooter? {
    typealias Layout = SegmentFooterLayout
    guard bytes.count >= Layout.rows,
      bytes.load32(Layout.magic.offset) == Layout.magicNumber,
      bytes.load64(Layout.firstFrame.offset) == geometry.firstFrame(of: number)
    else { return nil }
    let count = Int(bytes.load32(Layout.count.offset))
    let end = Layout.rows + count * Layout.rowByteCount
    let covered = Layout.firstFrame.offset
    guard end <= bytes.count,
      XXH64.hash(bytes.slice(covered, end - covered), seed: seed)
        == bytes.load64(Layout.hash.offset)
    else { return nil }
    let frame = bytes.load64(Layout.frame.offset)
    guard geometry.segment(of: frame) == number, geometry.isFrame(frame),
      let rows = rows(in: bytes, count: count, upTo: geometry.slot(of: frame))
    else { return nil }
    return SegmentFooter(
      point: CommitPoint(
        frame: frame, digest: bytes.load64(Layout.digest.offset),
        lineage: bytes.load64(Layout.lineage.offset),
        pageCount: bytes.load32(Layout.pageCount.offset), time: bytes.load64(Layout.time.offset)),
      commitCount: Int(bytes.load32(Layout.commitCount.offset)), rows: rows)
  }

  /// Decodes the rows, or returns `nil` if the page numbers are not in ascending order or a slot is
  /// invalid.
  private static func rows(in bytes: Bytes, count: Int, upTo lastSlot: Int) -> [Row]? {
    var rows: [Row] = []
    rows.reserveCapacity(count)
    var offset = SegmentFooterLayout.rows
    for _ in 0..<count {
      let row = Row(
        page: bytes.load32(offset), slot: bytes.load32(offset + 4),
        hash: bytes.load64(offset + 8))
      guard row.slot > 0, row.slot <= lastSlot else { return nil }
      if let last = rows.last, row.page <= last.page { return nil }
      rows.append(row)
      offset += SegmentFooterLayout.rowByteCount
    }
    return rows
  }
}
