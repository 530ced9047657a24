/// The sizes chosen when a store was created, and the resulting positions of its frames and pages.
///
/// The sizes are fixed for the lifetime of a store. Every header slot and segment header repeats
/// the sizes.
package struct Geometry: Hashable, Sendable {
  /// The number of bytes in each page and in each log frame.
  ///
  /// The number is a power of two.
  package let pageByteCount: Int
  /// The number of slots in a log segment, including the slots of its header and footer.
  ///
  /// The number is a power of two.
  package let framesPerSegment: Int
  /// The number of slots at the end of a segment that are reserved for its footer.
  package let footerFrames: Int
  package let pageShift: Int
  package let segmentShift: Int

  /// The offset of page 0 in the page file, after the two header slots and the gap between them.
  package static let firstPageOffset: UInt64 = 131_072

  /// Creates the geometry of a new store, or returns `nil` if the sizes are not allowed.
  package init?(pageByteCount: Int, segmentByteCount: Int) {
    guard pageByteCount >= Limits.minPageByteCount, pageByteCount <= Limits.maxPageByteCount,
      segmentByteCount > 0, segmentByteCount <= Limits.maxSegmentByteCount
    else { return nil }
    let frames = segmentByteCount / pageByteCount
    guard frames * pageByteCount == segmentByteCount else { return nil }
    self.init(
      pageByteCount: pageByteCount, framesPerSegment: frames,
      footerFrames: Self.footerFrames(pageByteCount, frames))
  }

  /// Creates a geometry from a header, or returns `nil` if no store can have these values.
  package init?(pageByteCount: Int, framesPerSegment: Int, footerFrames: Int) {
    guard pageByteCount >= Limits.minPageByteCount, pageByteCount <= Limits.maxPageByteCount,
      pageByteCount & (pageByteCount - 1) == 0,
      framesPerSegment >= 8, framesPerSegment <= Limits.maxSegmentByteCount / pageByteCount,
      framesPerSegment & (framesPerSegment - 1) == 0,
      footerFrames == Self.footerFrames(pageByteCount, framesPerSegment)
    else { return nil }
    self.pageByteCount = pageByteCount
    self.framesPerSegment = framesPerSegment
    self.footerFrames = footerFrames
    pageShift = pageByteCount.trailingZeroBitCount
    segmentShift = framesPerSegment.trailingZeroBitCount
  }

  private static func footerFrames(_ pageByteCount: Int, _ frames: Int) -> Int {
    (frames * 16 + 64 + pageByteCount - 1) / pageByteCount
  }

  package var segmentByteCount: Int { framesPerSegment << pageShift }

  /// Returns the number of the segment that contains a frame.
  ///
  /// Segments are numbered from 0.
  @inline(__always)
  package func segment(of frame: FrameNumber) -> UInt64 { frame &>> UInt64(segmentShift) }

  @inline(__always)
  package func slot(of frame: FrameNumber) -> Int {
    Int(truncatingIfNeeded: frame) & (framesPerSegment &- 1)
  }

  package func offset(of frame: FrameNumber) -> UInt64 { UInt64(slot(of: frame)) << pageShift }

  /// Returns the first frame of a segment.
  ///
  /// The frame is in slot 1, after the segment's header.
  package func firstFrame(of segment: UInt64) -> FrameNumber { (segment << segmentShift) + 1 }

  package func lastFrame(of segment: UInt64) -> FrameNumber {
    lastSlot(of: segment) - UInt64(footerFrames)
  }

  package var footerOffset: UInt64 {
    UInt64(framesPerSegment - footerFrames) << UInt64(pageShift)
  }

  /// Returns the index of a segment's last slot, which is a footer slot.
  package func lastSlot(of segment: UInt64) -> FrameNumber {
    firstFrame(of: segment) + UInt64(framesPerSegment - 2)
  }

  /// Returns whether the slot at `index` can contain a frame, rather than a segment's header or
  /// footer.
  ///
  /// The number of a frame equals the index of its slot.
  package func isFrame(_ index: FrameNumber) -> Bool {
    let slot = slot(of: index)
    return slot > 0 && slot < framesPerSegment - footerFrames
  }

  /// Returns the frame after `frame`, skipping segment headers and footers.
  package func next(after frame: FrameNumber) -> FrameNumber {
    let following = frame + 1
    return isFrame(following) ? following : firstFrame(of: segment(of: following + overhang))
  }

  // Adding this number to the index of a header or footer slot gives the index of a slot in the
  // segment that contains the next frame.
  private var overhang: UInt64 { UInt64(footerFrames) }

  package func advance(_ frame: FrameNumber, by count: Int) -> FrameNumber {
    var result = frame
    var remaining = count
    while remaining > 0 {
      let slot = slot(of: result)
      let inSegment = framesPerSegment - footerFrames - 1 - slot
      let step = min(inSegment, remaining)
      result += UInt64(max(step, 0))
      remaining -= max(step, 0)
      if remaining > 0 {
        result = next(after: result)
        remaining -= 1
      }
    }
    return result
  }

  package func offset(ofPage page: PageNumber) -> UInt64 {
    Self.firstPageOffset + UInt64(page) << pageShift
  }

  package func segmentName(_ segment: UInt64) -> String {
    let digits = String(firstFrame(of: segment), radix: 16)
    return "wal-" + String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Returns the segment with the given file name, or `nil` if no segment has that name.
  package func segment(named name: String) -> UInt64? {
    guard name.hasPrefix("wal-"), name.utf8.count == 20,
      let frame = UInt64(name.dropFirst(4), radix: 16), frame > 0
    else { return nil }
    let segment = segment(of: frame)
    return firstFrame(of: segment) == frame && segmentName(segment) == name ? segment : nil
  }
}
