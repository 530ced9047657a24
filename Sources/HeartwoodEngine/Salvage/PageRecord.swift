/// The results of scanning one page.
struct PageRecord {
  /// The usage of a page in the salvaged generation, according to its bitmap page.
  enum Usage: UInt8 {
    /// The bitmap page is damaged.
    case unknown
    case used
    case free
  }

  /// The frame in the page's header.
  let frame: FrameNumber
  let tree: TreeID
  let kind: PageKind
  let level: UInt8
  var usage = Usage.unknown
  /// A Boolean value that indicates whether the page already has a position in its tree.
  var isVisited = false

  var isNode: Bool { kind == .leaf || kind == .branch }

  /// Creates the record of page `number`, or returns `nil` if the bytes are not an intact image of
  /// the page.
  ///
  /// A page that has a record can be read through the accessors of ``NodeView``.
  init?(_ bytes: Bytes, page number: PageNumber, seed: UInt64) {
    guard bytes.load32(PageLayout.page.offset) == number,
      let kind = PageKind(rawValue: bytes.load8(PageLayout.kind.offset)),
      PageChecks.hash(bytes, seed: seed) == bytes.load64(PageLayout.hash.offset),
      bytes.load64(PageLayout.frame.offset) <= Limits.maxFrame,
      kind == .bitmap || NodeChecks.check(bytes) == nil
    else { return nil }
    frame = bytes.load64(PageLayout.frame.offset)
    tree = bytes.load32(PageLayout.tree.offset)
    level = bytes.load8(PageLayout.level.offset)
    self.kind = kind
  }
}

/// The intact pages of a page file.
struct PageFileScan {
  /// The record of each page, or `nil` for a page that is damaged or was never written.
  let records: [PageRecord?]
  /// The highest frame number in any intact page.
  ///
  /// A checkpoint must have advanced at least to this frame.
  let newestFrame: FrameNumber

  /// The number of bytes to read at a time.
  private static let chunkByteCount = 1 << 20

  /// Creates a scan by reading the pages of the file up to the page number `limit`.
  ///
  /// If `file` is `nil`, the scan contains no pages.
  init(
    _ file: (any File)?, _ geometry: Geometry, seed: UInt64, upTo limit: PageNumber,
    _ report: (Int) -> Void
  ) throws(StorageError) {
    var records: [PageRecord?] = []
    var newest: FrameNumber = 0
    let length = try file.map { file throws(StorageError) in try Self.credibleByteCount(file) } ?? 0
    let available =
      length > Geometry.firstPageOffset
      ? (length - Geometry.firstPageOffset) >> UInt64(geometry.pageShift) : 0
    let count = Int(min(available, UInt64(limit)))
    let block = ByteBlock(count: max(Self.chunkByteCount, geometry.pageByteCount))
    defer { block.keep() }
    let perChunk = block.bytes.count >> geometry.pageShift
    records.reserveCapacity(count)
    while let file, records.count < count {
      let first = records.count
      let wanted = min(perChunk, count - first)
      let target = block.bytes.slice(0, wanted << geometry.pageShift)
      let read = try file.read(into: target, at: geometry.offset(ofPage: PageNumber(first)))
      for index in 0..<wanted {
        guard (index + 1) << geometry.pageShift <= read else {
          records.append(nil)
          continue
        }
        let bytes = target.bytes.slice(index << geometry.pageShift, geometry.pageByteCount)
        let record = PageRecord(bytes, page: PageNumber(first + index), seed: seed)
        if let record { newest = max(newest, record.frame) }
        records.append(record)
      }
      report(records.count)
    }
    self.records = records
    newestFrame = newest
  }

  /// Returns the number of bytes of a file to scan: its length, unless the file consists mostly of
  /// holes.
  ///
  /// A damaged file system may report any length, and scanning uses memory for each page. The
  /// result is therefore limited to 64 times the file's allocated size, or to ``plainByteCount`` if
  /// that is more.
  private static func credibleByteCount(_ file: any File) throws(StorageError) -> UInt64 {
    let length = try file.byteCount()
    guard length > plainByteCount else { return length }
    let (most, isLarge) = try file.allocatedByteCount().multipliedReportingOverflow(by: 64)
    return isLarge ? length : min(length, max(most, plainByteCount))
  }

  /// The maximum length, in bytes, of a file that is scanned without a check for holes.
  private static let plainByteCount: UInt64 = 1 << 30
}
