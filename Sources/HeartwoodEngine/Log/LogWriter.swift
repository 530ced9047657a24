/// Appends the groups of one transaction behind a commit.
///
/// Used by the holder of the writer lock only.
package struct LogWriter {
  package let files: LogFiles
  package let lineage: UInt64
  /// The newest generation known to be synced: the witness every header carries.
  package let durableUpTo: FrameNumber
  /// The segments written so far; a new one is added at the end.
  package private(set) var table: SegmentTable
  private var digest: UInt64
  private var last: FrameNumber
  private let transaction: UInt64
  private let base: FrameNumber
  private var ordinal: UInt32 = 0
  private let supply: SegmentSupply

  /// One page image to append: its buffer gets frame index and hash before it is written.
  package struct Image {
    package let page: PageNumber
    package let bytes: MutableBytes
    package init(page: PageNumber, bytes: MutableBytes) {
      self.page = page
      self.bytes = bytes
    }
  }

  /// Starts a transaction whose first frame is `base`.
  ///
  /// - Parameter supply: Where new segments come from, with durable names.
  package init(
    files: LogFiles, table: SegmentTable, after point: CommitPoint, lineage: UInt64,
    base: FrameNumber, durableUpTo: FrameNumber, supply: SegmentSupply
  ) {
    self.files = files
    self.table = table
    self.lineage = lineage
    self.durableUpTo = durableUpTo
    self.supply = supply
    self.base = base
    digest = point.digest
    // The frame before `base` in the order of frames: groups are placed by stepping on from it.
    last = base - 1
    transaction = files.fileSystem.random()
  }

  /// Writes all images and the commit mark; returns the commit and the frame of each image.
  ///
  /// Between the first write and the last, nothing of it counts; from then on the transaction has
  /// happened, whatever becomes of the writer.
  ///
  /// - Complexity: One write for each group and segment it touches; one sync of the folder if the
  ///   transaction enters segments that were not made ahead.
  package mutating func commit(
    _ images: [Image], pageCount: PageNumber, time: UInt64
  ) throws(StorageError) -> (point: CommitPoint, frames: [FrameNumber]) {
    var frames: [FrameNumber] = []
    frames.reserveCapacity(images.count)
    let perGroup = GroupLayout.maxImageCount(pageByteCount: files.geometry.pageByteCount)
    let headerBlock = ByteBlock(count: files.geometry.pageByteCount)
    defer { headerBlock.keep() }
    let groupCount = max((images.count + perGroup - 1) / perGroup, 1)
    try addSegments(through: files.geometry.advance(base, by: images.count + groupCount - 1))
    var start = 0
    repeat {
      let end = min(start + perGroup, images.count)
      let commit =
        end == images.count ? GroupHeader.Commit(pageCount: pageCount, time: time) : nil
      try append(images[start..<end], commit: commit, headerBlock: headerBlock, &frames)
      start = end
    } while start < images.count
    let point = CommitPoint(
      frame: last, digest: digest, lineage: lineage, pageCount: pageCount, time: time)
    return (point, frames)
  }

  private mutating func append(
    _ images: ArraySlice<Image>, commit: GroupHeader.Commit?, headerBlock: ByteBlock,
    _ frames: inout [FrameNumber]
  ) throws(StorageError) {
    let geometry = files.geometry
    let headerFrame = ordinal == 0 ? base : geometry.next(after: last)
    var entries: [GroupHeader.Image] = []
    entries.reserveCapacity(images.count)
    var frame = headerFrame
    for image in images {
      frame = geometry.next(after: frame)
      frames.append(frame)
      let hash = PageChecks.seal(image.bytes, frame: frame, seed: files.identity.seed)
      entries.append(GroupHeader.Image(page: image.page, hash: hash))
    }
    headerBlock.bytes.clear(0, headerBlock.bytes.count)
    let header = GroupHeader(
      frame: headerFrame, ordinal: ordinal, lineage: lineage, transaction: transaction,
      previous: digest, base: base, durableUpTo: durableUpTo, commit: commit, images: entries,
      voids: [])
    digest = header.encode(to: headerBlock.bytes, seed: files.identity.seed)
    try write([headerBlock.bytes.bytes] + images.map(\.bytes.bytes), at: headerFrame)
    last = frame
    ordinal += 1
  }

  /// Gets all segments up to the transaction's last frame at once.
  private mutating func addSegments(through last: FrameNumber) throws(StorageError) {
    let needed = files.geometry.segment(of: last)
    let first = table.segments.last.map { $0.number + 1 } ?? files.geometry.segment(of: base)
    guard first <= needed else { return }
    for segment in try supply.take(first, through: needed, lineage: lineage) {
      table = table.appending(segment)
    }
  }

  /// Writes consecutive frames, one call for each segment they lie in.
  private func write(_ parts: [Bytes], at first: FrameNumber) throws(StorageError) {
    let geometry = files.geometry
    var frame = first
    var position = 0
    while position < parts.count {
      guard let segment = table[geometry.segment(of: frame)] else {
        throw .corrupt(
          "A log segment is missing.", file: geometry.segmentName(geometry.segment(of: frame)))
      }
      let room = geometry.framesPerSegment - geometry.footerFrames - geometry.slot(of: frame)
      let count = min(room, parts.count - position)
      try segment.file.write(
        Array(parts[position..<(position + count)]), at: geometry.offset(of: frame))
      position += count
      if position < parts.count { frame = geometry.firstFrame(of: segment.number + 1) }
    }
  }
}
