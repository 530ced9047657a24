/// A writer that appends the groups of one transaction after the newest commit.
///
/// The caller must hold the writer lock. Until the transaction commits, all readers of the log
/// ignore the transaction's groups. A failed append leaves the writer unchanged, and the next
/// append writes to the same location.
package struct LogWriter {
  package let files: LogFiles
  package let lineage: UInt64
  /// The newest generation known to be synced.
  ///
  /// Every header records this generation as the durable watermark.
  package let durableUpTo: FrameNumber
  /// The segments of the log, including those that this writer has added.
  package private(set) var table: SegmentTable
  /// The number of frames written by this transaction, including headers.
  package private(set) var frameCount = 0
  private var digest: UInt64
  private var last: FrameNumber
  private let transaction: UInt64
  private let base: FrameNumber
  private var ordinal: UInt32 = 0
  private let allocator: SegmentAllocator

  /// A page image to append.
  ///
  /// The writer stamps the frame number and the hash into `bytes` before it writes the image.
  package struct Image {
    package let page: PageNumber
    package let bytes: MutableBytes
    package init(page: PageNumber, bytes: MutableBytes) {
      self.page = page
      self.bytes = bytes
    }
  }

  /// The frame of each image, and the range of frames from the first header to the last image.
  package struct Location {
    package let frames: [FrameNumber]
    package let range: VoidRange
  }

  private struct Group {
    let images: ArraySlice<Image>
    let voids: ArraySlice<VoidRange>
  }

  /// Creates a writer for a transaction whose first frame is `base`.
  package init(
    files: LogFiles, table: SegmentTable, after point: CommitPoint, lineage: UInt64,
    base: FrameNumber, durableUpTo: FrameNumber, allocator: SegmentAllocator
  ) {
    self.files = files
    self.table = table
    self.lineage = lineage
    self.durableUpTo = durableUpTo
    self.allocator = allocator
    self.base = base
    digest = point.digest
    last = base - 1
    transaction = files.fileSystem.random()
  }

  package var nextFrame: FrameNumber {
    ordinal == 0 ? base : files.geometry.next(after: last)
  }

  /// Writes images of a transaction that is still in progress.
  ///
  /// - Parameter parts: Nonempty runs of images. Each run is written in separate groups, so that a
  ///   rollback can void it separately.
  /// - Complexity: The same as ``commit(_:voids:pageCount:time:)``.
  package mutating func spill(_ parts: [[Image]]) throws(StorageError) -> [Location] {
    try append(parts.map { groups(of: $0, voids: []) }, commit: nil, mayUseReserve: false)
  }

  /// Writes the last images and the commit mark, and returns the commit and each image's frame.
  ///
  /// The commit takes effect with the last write, even if the writer dies afterwards.
  ///
  /// - Parameter voids: The frames that contain spilled pages of savepoints that were rolled back.
  /// - Complexity: For each group, one write to each segment that the group spans. One directory
  ///   sync if the transaction enters segments that were not created in advance.
  package mutating func commit(
    _ images: [Image], voids: [VoidRange] = [], pageCount: PageNumber, time: UInt64,
    mayUseReserve: Bool = false
  ) throws(StorageError) -> (point: CommitPoint, frames: [FrameNumber]) {
    let groups = groups(of: images, voids: VoidRange.coalesced(voids, files.geometry))
    let locations = try append(
      [groups], commit: GroupHeader.Commit(pageCount: pageCount, time: time),
      mayUseReserve: mayUseReserve)
    let point = CommitPoint(
      frame: last, digest: digest, lineage: lineage, pageCount: pageCount, time: time)
    return (point, locations[0].frames)
  }

  /// Divides images and void ranges into groups, filling each header with the maximum number of
  /// images.
  private func groups(of images: [Image], voids: [VoidRange]) -> [Group] {
    let pageByteCount = files.geometry.pageByteCount
    var images = images[...]
    var voids = voids[...]
    var groups: [Group] = []
    repeat {
      let some = images.prefix(GroupLayout.maxImageCount(pageByteCount: pageByteCount))
      let room = GroupLayout.maxVoidCount(pageByteCount: pageByteCount, imageCount: some.count)
      groups.append(Group(images: some, voids: voids.prefix(room)))
      images = images.dropFirst(some.count)
      voids = voids.dropFirst(room)
    } while !images.isEmpty || !voids.isEmpty
    return groups
  }

  /// Writes either all parts or none of them.
  ///
  /// The commit mark, if there is one, is in the last group.
  private mutating func append(
    _ parts: [[Group]], commit: GroupHeader.Commit?, mayUseReserve: Bool
  ) throws(StorageError) -> [Location] {
    let count = parts.joined().reduce(0) { $0 + 1 + $1.images.count }
    try addSegments(
      through: files.geometry.advance(nextFrame, by: count - 1), mayUseReserve: mayUseReserve)
    let headerBlock = ByteBlock(count: files.geometry.pageByteCount)
    defer { headerBlock.keep() }
    let before = self
    do throws(StorageError) {
      var locations: [Location] = []
      for groups in parts {
        let first = nextFrame
        var frames: [FrameNumber] = []
        for (position, group) in groups.enumerated() {
          try append(
            group, commit: position == groups.count - 1 ? commit : nil, headerBlock, &frames)
        }
        locations.append(Location(frames: frames, range: VoidRange(first: first, last: last)))
      }
      return locations
    } catch {
      // Let the next append overwrite the frames that were written, but keep the segments that were
      // added.
      self = before
      throw error
    }
  }

  private mutating func append(
    _ group: Group, commit: GroupHeader.Commit?, _ headerBlock: ByteBlock,
    _ frames: inout [FrameNumber]
  ) throws(StorageError) {
    let geometry = files.geometry
    let headerFrame = nextFrame
    var entries: [GroupHeader.Image] = []
    entries.reserveCapacity(group.images.count)
    var frame = headerFrame
    for image in group.images {
      frame = geometry.next(after: frame)
      frames.append(frame)
      let hash = PageChecks.stamp(image.bytes, frame: frame, seed: files.identity.seed)
      entries.append(GroupHeader.Image(page: image.page, hash: hash))
    }
    headerBlock.bytes.clear(0, headerBlock.bytes.count)
    let header = GroupHeader(
      frame: headerFrame, ordinal: ordinal, lineage: lineage, transaction: transaction,
      previous: digest, base: base, durableUpTo: durableUpTo, commit: commit, images: entries,
      voids: Array(group.voids))
    digest = header.encode(to: headerBlock.bytes, seed: files.identity.seed)
    do throws(StorageError) {
      try write([headerBlock.bytes.bytes] + group.images.map(\.bytes.bytes), at: headerFrame)
    } catch {
      if commit != nil, error.kind == .diskFull || error.changedNothing { try revoke(headerBlock) }
      throw error
    }
    last = frame
    ordinal += 1
    frameCount += group.images.count + 1
  }

  /// Revokes a commit whose last write failed because disk space or a descriptor was not available.
  ///
  /// The commit may be complete despite the error, in which case recovery would find it.
  private func revoke(_ block: ByteBlock) throws(StorageError) {
    block.bytes.clear(0, block.bytes.count)
    do throws(StorageError) {
      try write([block.bytes.bytes], at: base)
    } catch {
      // The commit may or may not exist, so do not mark the error as having changed nothing.
      throw StorageError(
        .io,
        "A commit could be neither completed in the log nor revoked, so it may or may not take "
          + "effect. Close the store, and then open it again.",
        file: files.path(files.geometry.segment(of: base)))
    }
  }

  /// Adds all missing segments up to the segment that contains the frame `last`.
  private mutating func addSegments(
    through last: FrameNumber, mayUseReserve: Bool
  ) throws(StorageError) {
    let needed = files.geometry.segment(of: last)
    // Do not add segments before the segment that contains `base`, because such segments are
    // missing only if maintenance has reclaimed them.
    let first = max(
      table.segments.last.map { $0.number + 1 } ?? 0, files.geometry.segment(of: base))
    guard first <= needed else { return }
    // Do not let the log span more segments than this limit, because readers would treat a longer
    // log as corrupt.
    guard needed - (table.segments.first?.number ?? first) <= Limits.maxSegmentSpan else {
      throw StorageError(
        .diskFull,
        "The log is too long, because the oldest held generation is too far behind the newest "
          + "generation. Release named generations and old snapshots.")
    }
    for segment in try allocator.allocate(
      first, through: needed, lineage: lineage, mayUseReserve: mayUseReserve)
    {
      table = table.appending(segment)
    }
  }

  private func write(_ parts: [Bytes], at first: FrameNumber) throws(StorageError) {
    let geometry = files.geometry
    var frame = first
    var position = 0
    while position < parts.count {
      guard let segment = table[geometry.segment(of: frame)] else {
        throw .corrupt(
          "The log is corrupt: a segment is missing. Restore a backup.",
          file: geometry.segmentName(geometry.segment(of: frame)))
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
