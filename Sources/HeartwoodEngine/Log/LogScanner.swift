/// A reader that processes the log commit by commit and stops at the first incomplete commit.
///
/// The scanner accepts a commit on the basis of its group headers. Each header must be intact, be
/// located at the frame that it names, and continue the chain of digests. All headers must belong
/// to one transaction, whose last group has the commit mark. Recovery verifies page images only in
/// commits above the durable watermark. Earlier commits were synced, and corruption in them is
/// detected when they are read.
///
/// The scanner uses a footer only if scanning started in an earlier segment. Otherwise, the scanner
/// could not determine how many of the footer's commits precede the starting point.
package struct LogScanner {
  package let table: SegmentTable
  package let geometry: Geometry
  package let seed: UInt64
  /// The last accepted commit.
  package private(set) var point: CommitPoint
  private let origin: CommitPoint
  private let block: ByteBlock
  private let footerBlock: ByteBlock
  /// The first frames of the segments that begin with a new transaction.
  ///
  /// Each key is the digest of the group that precedes the transaction.
  private var starts: [UInt64: [FrameNumber]] = [:]
  /// The last segment whose footer was read.
  ///
  /// Recording this segment ensures that each footer is read only once.
  private var triedSegment: UInt64?
  /// The number of commits read so far that end in the same segment as `point`.
  private var commitCount = 0

  /// Creates a scanner that starts after the commit `point`.
  ///
  /// The initialiser reads one page for each segment that starts after `point`.
  package init(
    table: SegmentTable, geometry: Geometry, seed: UInt64, from point: CommitPoint
  ) throws(StorageError) {
    self.table = table
    self.geometry = geometry
    self.seed = seed
    self.point = point
    origin = point
    block = ByteBlock(count: geometry.pageByteCount)
    footerBlock = ByteBlock(count: geometry.footerFrames * geometry.pageByteCount)
    for segment in table.segments {
      let frame = geometry.firstFrame(of: segment.number)
      guard frame > point.frame else { continue }
      guard let found = try header(at: frame), found.header.base == frame else { continue }
      starts[found.header.previous, default: []].append(frame)
    }
  }

  /// The frame at which the next commit of this lineage would start.
  package var nextFrame: FrameNumber { geometry.next(after: point.frame) }

  /// Returns the next step, or `nil` at the end of the log.
  ///
  /// If the scanner can use a segment's footer, the step contains all unread commits that end in
  /// the segment. Otherwise, it contains one commit.
  ///
  /// - Parameter limit: The last frame that a footer may cover, or `nil` to ignore all footers.
  /// - Throws: `corrupt` if a commit increases the page count without creating the new pages.
  /// - Complexity: One page read for each group of a commit, or one read of a footer.
  package mutating func step(upTo limit: FrameNumber? = .max) throws(StorageError) -> LogStep? {
    if let commit = try jump() { return try accept(commit) }
    if let limit, let rest = try footerStep(upTo: limit) { return try accept(rest) }
    guard let commit = try commit(at: nextFrame) else { return nil }
    return try accept(commit)
  }

  /// Returns the next commit, read from its headers, or `nil` at the end of the log.
  package mutating func next() throws(StorageError) -> LogStep? { try step(upTo: nil) }

  private mutating func accept(_ step: LogStep) throws(StorageError) -> LogStep {
    try requireBitmaps(step.images, upTo: step.point)
    commitCount = metCount(in: geometry.segment(of: step.point.frame)) + step.commitCount
    point = step.point
    return step
  }

  /// Checks that a commit contains an image of every bitmap page that it adds to the store.
  ///
  /// Without this check, a wrong page count would make readers allocate memory for pages that do
  /// not exist.
  private func requireBitmaps(
    _ images: [LogStep.Image], upTo end: CommitPoint
  ) throws(StorageError) {
    for bitmap in BitmapLayout.newBitmaps(
      from: point.pageCount, to: end.pageCount, pageByteCount: geometry.pageByteCount)
    where !images.contains(where: { $0.page == bitmap }) {
      throw .corrupt(
        "The log is corrupt: the commit that ends at frame \(end.frame) increases the page count "
          + "to \(end.pageCount), but does not contain all new bitmap pages. Restore a backup.",
        file: geometry.segmentName(geometry.segment(of: end.frame)))
    }
  }

  /// Returns the number of commits read so far that end in the given segment.
  private func metCount(in segment: UInt64) -> Int {
    geometry.segment(of: point.frame) == segment ? commitCount : 0
  }

  /// Returns the commit that starts a new lineage after `point`, or `nil` if there is none.
  ///
  /// If there is such a commit, the frames that directly follow `point` must be ignored. The
  /// recovery that started the lineage found these frames incomplete. The frames are now below the
  /// durable watermark, so a later recovery would accept them on the basis of their headers.
  private func jump() throws(StorageError) -> LogStep? {
    for start in starts[point.digest] ?? [] where start >= nextFrame {
      if let found = try commit(at: start), found.ended != nil { return found }
    }
    return nil
  }

  /// Returns a step with all unread commits of the next frame's segment, or `nil` if that segment
  /// has no usable footer.
  private mutating func footerStep(upTo limit: FrameNumber) throws(StorageError) -> LogStep? {
    let next = nextFrame
    let number = geometry.segment(of: next)
    guard number != triedSegment, origin.frame < geometry.firstFrame(of: number) else { return nil }
    triedSegment = number
    let metCount = metCount(in: number)
    guard let footer = try footer(of: number), footer.point.lineage == point.lineage,
      footer.point.frame >= next, footer.point.frame <= limit, footer.commitCount > metCount
    else { return nil }
    let first = geometry.firstFrame(of: number) - 1
    var images: [LogStep.Image] = []
    images.reserveCapacity(footer.rows.count)
    for row in footer.rows where first + UInt64(row.slot) > point.frame {
      images.append(LogStep.Image(page: row.page, frame: first + UInt64(row.slot), hash: row.hash))
    }
    return LogStep(
      point: footer.point, durableWatermark: footer.point.frame, images: images,
      commitCount: footer.commitCount - metCount, isFooter: true)
  }

  package func footer(of number: UInt64) throws(StorageError) -> SegmentFooter? {
    guard let segment = table[number] else { return nil }
    let count = try segment.file.read(into: footerBlock.bytes, at: geometry.footerOffset)
    return SegmentFooter.decode(
      footerBlock.bytes.bytes.slice(0, count), segment: number, geometry: geometry, seed: seed)
  }

  /// Returns whether every image of a commit matches the commit's headers.
  package func verifyImages(of commit: LogStep) throws(StorageError) -> Bool {
    for image in commit.images {
      guard try read(image.frame),
        block.bytes.bytes.load64(PageLayout.hash.offset) == image.hash,
        block.bytes.bytes.load64(PageLayout.frame.offset) == image.frame,
        block.bytes.bytes.load32(PageLayout.page.offset) == image.page,
        PageChecks.hash(block.bytes.bytes, seed: seed) == image.hash
      else { return false }
    }
    return true
  }

  /// Returns the group header at `frame`, or `nil` if the frame contains no intact header.
  package func header(
    at frame: FrameNumber
  ) throws(StorageError) -> (header: GroupHeader, digest: UInt64)? {
    guard try read(frame) else { return nil }
    return GroupHeader.decode(block.bytes.bytes, at: frame, seed: seed)
  }

  /// Reads a frame into `block`, or returns `false` if the frame is missing or incomplete.
  private func read(_ frame: FrameNumber) throws(StorageError) -> Bool {
    guard let segment = table[geometry.segment(of: frame)] else { return false }
    return try segment.file.read(into: block.bytes, at: geometry.offset(of: frame))
      == geometry.pageByteCount
  }

  /// Returns the transaction at `start`, or `nil` if it is incomplete or does not continue the
  /// chain of digests.
  private func commit(at start: FrameNumber) throws(StorageError) -> LogStep? {
    guard let first = try header(at: start), first.header.previous == point.digest,
      first.header.ordinal == 0, first.header.base == start
    else { return nil }
    let isJump = first.header.lineage != point.lineage
    guard !isJump || geometry.slot(of: start) == 1 else { return nil }
    var images: [LogStep.Image] = []
    var voids: [VoidRange] = []
    var durableWatermark: FrameNumber = 0
    var group = first
    while true {
      durableWatermark = max(durableWatermark, group.header.durableUpTo)
      voids += group.header.voids
      var frame = group.header.frame
      for image in group.header.images {
        frame = geometry.next(after: frame)
        // Check explicitly that the segment exists, because the image itself is not read here.
        guard table[geometry.segment(of: frame)] != nil else { return nil }
        images.append(LogStep.Image(page: image.page, frame: frame, hash: image.hash))
      }
      if let commit = group.header.commit {
        Self.remove(voids, upTo: frame, from: &images, geometry)
        return LogStep(
          point: CommitPoint(
            frame: frame, digest: group.digest, lineage: group.header.lineage,
            pageCount: commit.pageCount, time: commit.time),
          durableWatermark: durableWatermark, images: images,
          ended: isJump ? EndedLineage(lineage: point.lineage, end: point.frame) : nil)
      }
      guard let following = try header(at: geometry.next(after: frame)),
        following.header.previous == group.digest,
        following.header.transaction == first.header.transaction,
        following.header.lineage == first.header.lineage, following.header.base == start,
        following.header.ordinal == group.header.ordinal &+ 1
      else { return nil }
      group = following
    }
  }

  /// Removes the images that are in void ranges.
  private static func remove(
    _ voids: [VoidRange], upTo end: FrameNumber, from images: inout [LogStep.Image],
    _ geometry: Geometry
  ) {
    guard !voids.isEmpty else { return }
    // Discard impossible ranges, which a corrupt file may contain.
    let sane = voids.map { VoidRange(first: $0.first, last: min($0.last, end)) }
      .filter { $0.first <= $0.last }
    var ranges = VoidRange.coalesced(sane, geometry)[...]
    images.removeAll { image in
      while let range = ranges.first, range.last < image.frame { ranges.removeFirst() }
      return ranges.first.map { $0.first <= image.frame } ?? false
    }
  }
}
