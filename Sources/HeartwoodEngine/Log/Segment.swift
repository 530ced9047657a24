/// One segment of the log.
///
/// A segment consists of its file and, if the store maps files into memory, a mapping of the file.
/// A segment object exists as long as a reader may use it. Its mapping remains valid even if no
/// descriptor is open. After the segment's file is deleted, the mapping keeps the disk space
/// allocated until the last snapshot that uses the segment is released. Segments are thread-safe,
/// because only the verified bits change, and these are atomic.
package final class Segment: Sendable {
  package let number: UInt64
  package let file: SegmentFile
  let mapping: Mapping?
  let bits: VerifiedBits

  package init(
    number: UInt64, file: SegmentFile, geometry: Geometry, isMapped: Bool
  ) throws(StorageError) {
    self.number = number
    self.file = file
    mapping = isMapped ? try file.map(byteCount: geometry.segmentByteCount) : nil
    bits = VerifiedBits(pageCount: geometry.framesPerSegment)
  }

  /// Returns whether a slot contains the magic number of a group header.
  package func mayHoldHeader(_ slot: Int, _ geometry: Geometry) throws(StorageError) -> Bool {
    let offset = geometry.pageByteCount * slot + GroupLayout.magic.offset
    if let mapping {
      return mapping.bytes.bytes.load32(offset) == GroupLayout.magicNumber
    }
    let block = ByteBlock(count: 4)
    defer { block.keep() }
    let count = try file.read(into: block.bytes, at: UInt64(offset))
    return count == 4 && block.bytes.bytes.load32(0) == GroupLayout.magicNumber
  }

  /// The bytes and the verified bits of the segment, or `nil` if it is not mapped.
  var region: PageRegion? {
    mapping.map { PageRegion(pages: UnsafeRawPointer($0.bytes.base), verified: bits.words) }
  }
}

/// The log segments that one or more states may refer to, in ascending order.
///
/// There may be gaps between the segments. If two segments are created together and neither
/// contains frames, a power cut may preserve only the name of the later segment. A table is
/// immutable. A state retains its table, and thus every mapping that its readers may have pointers
/// into.
package final class SegmentTable: @unchecked Sendable {
  // `@unchecked` is safe because the memory of `regions` is written only in `init`.
  package let segments: [Segment]
  /// The regions of the segments and of the gaps between them, in ascending order.
  ///
  /// The verified bits of a gap are never set.
  package let regions: UnsafeMutablePointer<PageRegion>
  package let regionCount: Int
  private let gapBits: VerifiedBits?

  package init(_ segments: [Segment]) {
    self.segments = segments
    let first = segments.first?.number ?? 0
    let count = segments.last.map { Int($0.number - first) + 1 } ?? 0
    regionCount = count
    regions = .allocate(capacity: max(count, 1))
    gapBits = count == segments.count ? nil : segments.first.map { VerifiedBits(like: $0.bits) }
    if let gapBits {
      let gap = PageRegion(pages: UnsafeRawPointer(regions), verified: gapBits.words)
      regions.initialize(repeating: gap, count: count)
    }
    for segment in segments {
      if let region = segment.region { regions[Int(segment.number - first)] = region }
    }
  }

  deinit { regions.deallocate() }

  /// The number of the first segment, or 0 if the table is empty.
  package var first: UInt64 { segments.first?.number ?? 0 }
  /// The number of the segment after the last one, or 0 if the table is empty.
  package var nextSegment: UInt64 { segments.last.map { $0.number + 1 } ?? 0 }

  package subscript(number: UInt64) -> Segment? {
    guard number >= first else { return nil }
    let distance = Int(clamping: number - first)
    if distance < segments.count, segments[distance].number == number { return segments[distance] }
    return segments.first { $0.number == number }
  }

  package func appending(_ segment: Segment) -> SegmentTable {
    precondition(segments.isEmpty || segment.number > segments[segments.count - 1].number)
    return SegmentTable(segments + [segment])
  }

  /// Returns a table of the same segments, with all their files mapped.
  ///
  /// Each file must already have its full length.
  package func mapped(_ geometry: Geometry) throws(StorageError) -> SegmentTable {
    var mapped: [Segment] = []
    mapped.reserveCapacity(segments.count)
    for segment in segments {
      mapped.append(
        try Segment(
          number: segment.number, file: segment.file, geometry: geometry, isMapped: true))
    }
    return SegmentTable(mapped)
  }

  /// Returns this table without the segments after `number`.
  ///
  /// The omitted segments were created in advance, so another process may still replace their
  /// files.
  package func ending(with number: UInt64) -> SegmentTable {
    guard let last = segments.last, last.number > number else { return self }
    return SegmentTable(segments.filter { $0.number <= number })
  }

  /// Returns this table without the segments that are below `number` or in `gone`.
  package func dropping(below number: UInt64, _ gone: Set<UInt64> = []) -> SegmentTable {
    SegmentTable(segments.filter { $0.number >= number && !gone.contains($0.number) })
  }
}
