import HeartwoodEngine

/// The structures of log segments.
extension FuzzTarget {
  /// Headers of groups.
  static let groupHeader = FuzzTarget("group-header", seeds: groupHeaderInputs) { bytes in
    typealias Layout = GroupLayout
    var input = FuzzInput(bytes)
    let repairs = Repairs(rawValue: input.byte())
    let block = block(input.rest, at: Layout.magic.offset, count: geometry.pageByteCount)
    defer { block.keep() }
    let frame = block.bytes
    if repairs.contains(.identity) {
      frame.store64(21, Layout.frame.offset)
      frame.store32(Layout.magicNumber, Layout.magic.offset)
    }
    if repairs.contains(.counts) { repairCounts(frame) }
    if repairs.contains(.hash) {
      let end = min(max(Int(frame.bytes.load32(Layout.byteCount.offset)), 8), frame.count)
      let hash = XXH64.hash(frame.bytes.slice(8, end - 8), seed: fuzzedStore.seed)
      frame.store64(hash, Layout.hash.offset)
    }
    guard let found = GroupHeader.decode(frame.bytes, at: 21, seed: fuzzedStore.seed) else {
      return nil
    }
    let other = ByteBlock(count: geometry.pageByteCount)
    defer { other.keep() }
    let digest = found.header.encode(to: other.bytes, seed: fuzzedStore.seed)
    let again = GroupHeader.decode(other.bytes.bytes, at: 21, seed: fuzzedStore.seed)
    return again.map { $0.header == found.header && $0.digest == digest } == true
      ? nil : "The header differs after encoding it again."
  }

  private static let geometry: Geometry = {
    guard let geometry = Geometry(pageByteCount: 4096, segmentByteCount: 16 * 4096) else {
      preconditionFailure("The sizes are not allowed.")
    }
    return geometry
  }()

  /// Limits the counts to the capacity of the frame, and sets the length to their sum.
  private static func repairCounts(_ frame: MutableBytes) {
    typealias Layout = GroupLayout
    let most = GroupLayout.maxImageCount(pageByteCount: frame.count)
    let images = Int(frame.bytes.load32(Layout.imageCount.offset)) % (most + 1)
    let room = GroupLayout.maxVoidCount(pageByteCount: frame.count, imageCount: images)
    let voids = Int(frame.bytes.load32(Layout.voidCount.offset)) % (room + 1)
    frame.store32(UInt32(images), Layout.imageCount.offset)
    frame.store32(UInt32(voids), Layout.voidCount.offset)
    frame.store32(UInt32(Layout.entries + images * 12 + voids * 16), Layout.byteCount.offset)
  }

  @Sendable private static func groupHeaderInputs() -> [[UInt8]] {
    [(0, 0), (1, 0), (3, 2), (40, 9)].flatMap { images, voids in
      [0, GroupLayout.commitMark].map { flags in groupHeaderInput(images, voids, flags) }
    }
  }

  private static func groupHeaderInput(_ images: Int, _ voids: Int, _ flags: UInt32) -> [UInt8] {
    typealias Layout = GroupLayout
    let end = Layout.entries + images * 12 + voids * 16
    let block = ByteBlock(count: end)
    defer { block.keep() }
    let header = block.bytes
    for offset in Layout.ordinal.offset..<end { header.store8(UInt8(offset % 7), offset) }
    header.store32(flags, Layout.flags.offset)
    header.store32(UInt32(images), Layout.imageCount.offset)
    header.store32(UInt32(voids), Layout.voidCount.offset)
    let start = Layout.magic.offset
    return [Repairs.all.rawValue] + header.bytes.slice(start, end - start).copied()
  }

  /// Footers of segments.
  static let segmentFooter = FuzzTarget("footer", seeds: footerInputs) { bytes in
    typealias Layout = SegmentFooterLayout
    var input = FuzzInput(bytes)
    let repairs = Repairs(rawValue: input.byte())
    let byteCount = geometry.footerFrames << geometry.pageShift
    let block = block(input.rest, count: byteCount)
    defer { block.keep() }
    let footer = block.bytes
    if repairs.contains(.identity) {
      footer.store32(Layout.magicNumber, Layout.magic.offset)
      footer.store64(geometry.firstFrame(of: 2), Layout.firstFrame.offset)
    }
    if repairs.contains(.counts) {
      let most = (byteCount - Layout.rows) / Layout.rowByteCount
      let count = Int(footer.bytes.load32(Layout.count.offset)) % (most + 1)
      footer.store32(UInt32(count), Layout.count.offset)
      let frame = footer.bytes.load64(Layout.frame.offset) % UInt64(geometry.framesPerSegment)
      footer.store64(geometry.firstFrame(of: 2) - 1 + frame, Layout.frame.offset)
    }
    if repairs.contains(.hash) {
      let rows = Int(footer.bytes.load32(Layout.count.offset)) * Layout.rowByteCount
      let end = min(Layout.rows + rows, byteCount)
      let start = Layout.firstFrame.offset
      let hash = XXH64.hash(footer.bytes.slice(start, end - start), seed: fuzzedStore.seed)
      footer.store64(hash, Layout.hash.offset)
    }
    guard let found = decodedFooter(footer.bytes) else { return nil }
    let other = ByteBlock(count: byteCount)
    defer { other.keep() }
    guard found.byteCount <= byteCount else { return "The footer is too long." }
    found.encode(to: other.bytes, segment: 2, geometry: geometry, seed: fuzzedStore.seed)
    return decodedFooter(other.bytes.bytes) == found
      ? nil : "The footer differs after encoding it again."
  }

  private static func decodedFooter(_ bytes: Bytes) -> SegmentFooter? {
    SegmentFooter.decode(bytes, segment: 2, geometry: geometry, seed: fuzzedStore.seed)
  }

  @Sendable private static func footerInputs() -> [[UInt8]] {
    [0, 1, 5, 14].map { count in
      let point = CommitPoint(
        frame: geometry.firstFrame(of: 2) + 13, digest: 5, lineage: 3, pageCount: 60, time: 17)
      let footer = SegmentFooter(
        point: point, commitCount: 4,
        rows: (0..<count).map {
          SegmentFooter.Row(
            page: PageNumber($0 * 2), slot: UInt32(14 - $0), hash: UInt64($0) << 50)
        })
      let block = ByteBlock(count: geometry.footerFrames << geometry.pageShift)
      defer { block.keep() }
      footer.encode(to: block.bytes, segment: 2, geometry: geometry, seed: fuzzedStore.seed)
      return [Repairs.all.rawValue] + block.bytes.bytes.slice(0, footer.byteCount).copied()
    }
  }

  /// Headers of segments.
  static let segmentHeader = FuzzTarget("segment-header", seeds: segmentHeaderInputs) { bytes in
    typealias Layout = SegmentLayout
    let fields = HeaderFields(
      byteCount: Layout.byteCount, magicNumber: Layout.magicNumber,
      magicOffset: Layout.magic.offset, versionOffset: Layout.version.offset,
      hashOffset: Layout.hash.offset)
    let block = header(bytes, fields) { target in
      let shift = target.bytes.load32(Layout.pageByteCount.offset) % 5
      target.store32(4096 << shift, Layout.pageByteCount.offset)
    }
    defer { block.keep() }
    guard let found = SegmentHeader.decode(block.bytes.bytes) else { return nil }
    let other = ByteBlock(count: Layout.byteCount)
    defer { other.keep() }
    found.encode(to: other.bytes)
    return SegmentHeader.decode(other.bytes.bytes) == found
      ? nil : "The header differs after encoding it again."
  }

  @Sendable private static func segmentHeaderInputs() -> [[UInt8]] {
    let block = ByteBlock(count: SegmentLayout.byteCount)
    defer { block.keep() }
    let target = block.bytes
    target.store32(UInt32(geometry.framesPerSegment), SegmentLayout.framesPerSegment.offset)
    target.store32(UInt32(geometry.footerFrames), SegmentLayout.footerFrames.offset)
    return [[Repairs.all.rawValue] + target.bytes.copied()]
  }
}
