/// The generation that can be salvaged from a damaged store, and the log locations of its pages.
///
/// The salvaged generation is the newest one that an unbroken chain of commits connects to the page
/// file. Commits after a gap in the chain are not used, because the result would mix pages of
/// different generations.
struct SalvageLog {
  private(set) var point: CommitPoint
  private(set) var index = PageIndex()
  /// A map from pages to the frames of images that have already been written back to the page file.
  ///
  /// If a page is damaged in the page file, the salvage reads its image from the log instead.
  private(set) var checkpointedIndex = PageIndex()
  let table: SegmentTable
  /// The highest frame number that a page in the page file can have if the page is not in `index`.
  private(set) var checkpointed: FrameNumber
  /// A Boolean value that indicates whether later commits are known or suspected to have existed.
  private(set) var hasLostCommits = false
  /// Notes about the choice of the generation, each in one sentence.
  private(set) var notes: [String] = []
  private let geometry: Geometry
  private let seed: UInt64

  /// Determines the generation to salvage, and locates its pages in the log.
  ///
  /// - Parameters:
  ///   - committed: The durable generation according to the `counters` file, or 0 if it is unknown.
  ///   - newestInPages: The highest frame in the page file.
  init(
    _ found: SalvageIdentity, _ log: LogFiles, _ table: SegmentTable, committed: FrameNumber,
    newestInPages: FrameNumber
  ) throws(StorageError) {
    self.table = table
    geometry = found.geometry
    seed = found.identity.seed
    point = .empty
    checkpointed = 0
    var isFound = false
    if let header = found.header {
      isFound = try follow(header, found.slots, log, committed, newestInPages)
    }
    if !isFound { try followWithoutHeader(newestInPages) }
    if committed > point.frame, committed <= Limits.maxFrame, !hasLostCommits {
      hasLostCommits = true
      notes.append(
        "The counters show that generation \(committed) was committed, but the log ends at "
          + "generation \(point.frame).")
    }
  }

  // MARK: Starting from a header slot

  /// Follows the chain of commits in the log, starting at the generation in a header slot.
  ///
  /// The method returns `false` if the page file has advanced beyond this slot and its chain. In
  /// that case, a newer header slot existed but is now damaged.
  private mutating func follow(
    _ header: HeaderSlot, _ slots: [HeaderSlot], _ log: LogFiles, _ committed: FrameNumber,
    _ newestInPages: FrameNumber
  ) throws(StorageError) -> Bool {
    var start = header.checkpointed
    var index = PageIndex()
    do throws(StorageError) {
      if let found = try LogStart(header: header, log: log) {
        // If the map starts at a later state, do not use this slot: a newer header slot existed but
        // is now damaged.
        guard !found.isOutdated else { return false }
        (start, index) = (found.point, found.index)
      }
    } catch {
      guard error.kind == .corrupt else { throw error }
      notes.append(
        "The map of retained frames is damaged. If commits after generation "
          + "\(header.checkpointed.frame) are missing, they were lost with the map.")
    }
    let watermark = slots.map(\.durableUpTo).reduce(start.frame, max)
    let walk = try walk(from: start, index, watermark: watermark, committed: committed)
    // If the other slot is damaged, and the page file contains frames after the end of this slot's
    // chain, the damaged slot was the newer one.
    guard slots.count > 1 || walk.point.frame >= newestInPages else { return false }
    (point, self.index, checkpointed) = (walk.point, walk.index, header.checkpointed.frame)
    try lookBehind(walk.watermark)
    try followBackwards(from: header.checkpointed)
    return true
  }

  /// Finds page images from before the checkpoint in segments that have not been deleted yet.
  ///
  /// Each group contains the digest of the group before it. By following these digests back from
  /// the header slot's digest, the method finds the newest image of each checkpointed page.
  private mutating func followBackwards(from end: CommitPoint) throws(StorageError) {
    // Start with the images right before the end. These images belong to the last group, even if
    // the segment that contained the group's header has been deleted.
    var last = end.frame
    while last > 0, let page = try imagePage(at: last) {
      if checkpointedIndex.frame(of: page) == 0 { checkpointedIndex.set(page, to: last) }
      last = previous(last)
    }
    var groups: [UInt64: GroupHeader] = [:]
    try forEachHeader(from: 0) { header, digest in
      if header.frame <= end.frame { groups[digest] = header }
    }
    var voids: [VoidRange] = []
    var digest = end.digest
    while let group = groups.removeValue(forKey: digest) {
      voids += group.voids
      var images: [(page: PageNumber, frame: FrameNumber)] = []
      var frame = group.frame
      for image in group.images {
        frame = geometry.next(after: frame)
        images.append((image.page, frame))
      }
      for (page, frame) in images.reversed()
      where checkpointedIndex.frame(of: page) == 0
        && !voids.contains(where: { $0.first <= frame && frame <= $0.last })
      {
        checkpointedIndex.set(page, to: frame)
      }
      // Discard the void ranges at the start of a transaction, because they apply only to that
      // transaction.
      if group.ordinal == 0 { voids = [] }
      digest = group.previous
    }
  }

  private struct Walk {
    var point: CommitPoint
    var index: PageIndex
    var watermark: FrameNumber
  }

  /// Reads commits up to the first commit with a missing or damaged header.
  ///
  /// A power cut may have interrupted a commit that was not known to be durable, even if all of its
  /// headers exist. The method treats such a commit as interrupted if most of its page images are
  /// damaged.
  private mutating func walk(
    from start: CommitPoint, _ index: PageIndex, watermark: FrameNumber,
    committed: FrameNumber, upTo end: FrameNumber = .max
  ) throws(StorageError) -> Walk {
    var walk = Walk(point: start, index: PageIndex(sharing: index), watermark: watermark)
    var scanner = try LogScanner(table: table, geometry: geometry, seed: seed, from: start)
    var unproven: [(before: CommitPoint, commit: LogStep)] = []
    while walk.point.frame < end, let step = try Self.step(&scanner, upTo: end) {
      walk.watermark = max(walk.watermark, step.durableWatermark)
      if step.point.frame == committed { walk.watermark = max(walk.watermark, committed) }
      if !step.isFooter { unproven.append((walk.point, step)) }
      let proven = unproven.prefix { $0.commit.point.frame <= walk.watermark }.count
      unproven.removeFirst(proven)
      for image in step.images { walk.index.set(image.page, to: image.frame) }
      walk.point = step.point
    }
    guard end == .max else { return walk }
    for (before, commit) in unproven {
      let damaged = try damagedCount(of: commit)
      guard damaged > 0 else { continue }
      guard damaged * 2 <= commit.images.count else {
        notes.append(
          "The commit that ends at frame \(commit.point.frame) was interrupted: some of its pages "
            + "are missing (\(damaged) of \(commit.images.count)), and there is no evidence that "
            + "the commit was durable.")
        return try self.walk(
          from: start, index, watermark: walk.watermark, committed: 0, upTo: before.frame)
      }
      notes.append(
        "The commit that ends at frame \(commit.point.frame) has damaged pages (\(damaged) of "
          + "\(commit.images.count)). There is no evidence that this commit was durable.")
    }
    return walk
  }

  private static func step(
    _ scanner: inout LogScanner, upTo end: FrameNumber
  ) throws(StorageError) -> LogStep? {
    do throws(StorageError) { return try scanner.step(upTo: end) } catch {
      // A self-contradictory commit ends the chain, just as a damaged header does.
      guard error.kind == .corrupt else { throw error }
      return nil
    }
  }

  private func damagedCount(of commit: LogStep) throws(StorageError) -> Int {
    var count = 0
    for image in commit.images
    where try record(at: image.frame, page: image.page) == nil { count += 1 }
    return count
  }

  /// Returns the record of a page image, or `nil` if the image is damaged or missing.
  func record(at frame: FrameNumber, page: PageNumber) throws(StorageError) -> PageRecord? {
    try image(at: frame).flatMap { $0.page == page ? $0.record : nil }
  }

  /// Returns the number of the page whose image is in a frame, or `nil` if the frame has no intact
  /// image.
  private func imagePage(at frame: FrameNumber) throws(StorageError) -> PageNumber? {
    try image(at: frame)?.page
  }

  private func image(
    at frame: FrameNumber
  ) throws(StorageError) -> (page: PageNumber, record: PageRecord)? {
    guard let segment = table[geometry.segment(of: frame)] else { return nil }
    let block = ByteBlock(count: geometry.pageByteCount)
    defer { block.keep() }
    guard
      try segment.file.read(into: block.bytes, at: geometry.offset(of: frame))
        == block.bytes.count
    else { return nil }
    let page = block.bytes.bytes.load32(PageLayout.page.offset)
    guard let record = PageRecord(block.bytes.bytes, page: page, seed: seed),
      record.frame == frame
    else { return nil }
    return (page, record)
  }

  /// Checks whether headers after the end of the chain prove that commits are missing.
  private mutating func lookBehind(_ known: FrameNumber) throws(StorageError) {
    var watermark = known
    let stop = geometry.next(after: point.frame)
    var newest: FrameNumber = 0
    try forEachHeader(from: stop) { header, _ in
      watermark = max(watermark, header.durableUpTo)
      newest = max(newest, header.frame)
    }
    guard watermark >= stop else { return }
    hasLostCommits = true
    notes.append(
      "The log is damaged at frame \(stop). At least the commits after generation \(point.frame), "
        + "up to frame \(watermark), are lost.")
  }

  /// Calls `body` with each intact group header at or after `first`, and with its digest.
  private func forEachHeader(
    from first: FrameNumber, _ body: (GroupHeader, _ digest: UInt64) -> Void
  ) throws(StorageError) {
    let block = ByteBlock(count: geometry.pageByteCount)
    defer { block.keep() }
    for segment in table.segments where segment.number >= geometry.segment(of: first) {
      for slot in 1..<(geometry.framesPerSegment - geometry.footerFrames) {
        let frame = geometry.firstFrame(of: segment.number) + UInt64(slot - 1)
        guard frame >= first, try segment.mayHoldHeader(slot, geometry),
          try segment.file.read(into: block.bytes, at: geometry.offset(of: frame))
            == block.bytes.count,
          let found = GroupHeader.decode(block.bytes.bytes, at: frame, seed: seed)
        else { continue }
        body(found.header, found.digest)
      }
    }
  }

  // MARK: Without a header slot

  /// Finds the chain of commits that covers the newest frame in the page file.
  ///
  /// The log contains every commit after the checkpointed commit. Therefore, if the page file
  /// contains frames from a chain, or if its newest frame directly precedes the chain, the chain
  /// continues the state of the page file. The end of that chain is the newest generation.
  private mutating func followWithoutHeader(_ newestInPages: FrameNumber) throws(StorageError) {
    var starts: [GroupHeader] = []
    try forEachHeader(from: 0) { header, _ in
      if header.ordinal == 0, header.base == header.frame { starts.append(header) }
    }
    var reached: FrameNumber = 0
    for start in starts where start.frame > reached {
      let before = CommitPoint(
        frame: previous(start.frame), digest: start.previous, lineage: start.lineage,
        pageCount: .max, time: 0)
      let walk = try walk(from: before, PageIndex(), watermark: 0, committed: 0)
      guard walk.point.frame >= start.frame else { continue }
      reached = walk.point.frame
      guard reached >= newestInPages else { continue }
      guard start.frame <= geometry.next(after: newestInPages) else { break }
      (point, index, checkpointed) = (walk.point, walk.index, newestInPages)
      notes.append("The newest generation was determined from the log alone.")
      try lookBehind(walk.watermark)
      return
    }
    // No chain of commits continues from the page file's state, so use that state alone.
    point = CommitPoint(
      frame: newestInPages, digest: 0, lineage: 0, pageCount: .max, time: 0)
    checkpointed = newestInPages
    guard let last = starts.last, last.frame > newestInPages else { return }
    hasLostCommits = true
    notes.append(
      "No commit in the log continues from the page file's state, so only the page file was used. "
        + "Commits between frames \(newestInPages) and \(last.frame) are lost.")
  }

  /// Returns the frame before `frame`.
  private func previous(_ frame: FrameNumber) -> FrameNumber {
    let slot = geometry.slot(of: frame)
    guard slot <= 1 else { return frame - 1 }
    let segment = geometry.segment(of: frame)
    return segment == 0 ? 0 : geometry.lastFrame(of: segment - 1)
  }
}
