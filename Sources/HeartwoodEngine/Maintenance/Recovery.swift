/// A report on the recovery that was performed when a store was opened.
public struct RecoveryReport: Hashable, Sendable {
  /// The newest generation of the opened store.
  ///
  /// The value is the generation of either the newest complete commit found or the empty commit
  /// that started a new lineage.
  public var generation = Generation(frame: 0)
  /// The number of commits in the log that were newer than the state of the page file.
  public var commitCount = 0
  /// The number of log segments whose footers were read instead of their group headers.
  public var segmentFooterCount = 0
  /// The number of commits above the durable watermark that recovery accepted.
  ///
  /// Recovery accepts a commit above the watermark only after verifying all its page images.
  public var verifiedCommitCount = 0
  /// The number of discarded frames after the newest complete commit.
  ///
  /// These frames belong to unfinished commits, which were never acknowledged.
  public var discardedFrameCount = 0
  /// The durable watermark: the newest generation known to have been synced.
  public var durableWatermark = Generation(frame: 0)
  /// A Boolean value that indicates whether opening the store started a new lineage.
  ///
  /// A new lineage starts after a restart of the machine or a failed write.
  public var startedLineage = false
  /// The time that recovery took.
  public var duration: Duration = .zero
}

/// A search for the newest complete commit in a store's files.
///
/// The search does not change the files. It consists of steps R1.3 and R1.4 of
/// `Docs/Internals/Concurrency.md`.
///
/// - Important: Do not use the result before ``syncAll(_:)`` has been called.
package struct Recovery {
  package var point: CommitPoint { walk.point }
  package var index: PageIndex { walk.index }
  package var lineages: [EndedLineage] { walk.lineages }
  package private(set) var report = RecoveryReport()
  private var walk: LogWalk
  private let header: HeaderSlot
  private let start: LogStart
  private let table: SegmentTable
  /// A scanner positioned at the start of the log.
  ///
  /// Each walk uses a copy of this scanner.
  private let scanner: LogScanner
  /// The newest generation known to have been synced.
  ///
  /// No frame after it has been reclaimed.
  package private(set) var durableWatermark: FrameNumber

  /// Creates a recovery by reading the log after `start` and finding the newest complete commit.
  ///
  /// - Throws: `corrupt` if a frame that had been synced is missing or damaged.
  package init(
    header: HeaderSlot, slots: [HeaderSlot?], start: LogStart, table: SegmentTable
  ) throws(StorageError) {
    guard !start.isOutdated else {
      throw .corrupt(
        "The store is corrupt: the header of the page file is older than the `map` file. Restore a "
          + "backup.",
        file: "pages")
    }
    self.header = header
    self.start = start
    self.table = table
    walk = LogWalk(from: start)
    // Treat the end of the map as a watermark too, because the commit there was durable when the
    // map was written.
    durableWatermark = slots.compactMap { $0?.durableUpTo }.reduce(start.point.frame, max)
    scanner = try LogScanner(
      table: table, geometry: header.geometry, seed: header.identity.seed, from: start.point)
    try readOn()
    try lookBehind()
    report.commitCount = walk.commitCount
    report.segmentFooterCount = walk.footerCount
    report.generation = Generation(frame: point.frame)
    report.durableWatermark = Generation(frame: durableWatermark)
  }

  /// Reads commits, and verifies the page images of commits above the durable watermark.
  ///
  /// This is step R1.3 of `Docs/Internals/Concurrency.md`.
  private mutating func readOn() throws(StorageError) {
    var scanner = scanner
    var unsynced: [(before: CommitPoint, commit: LogStep)] = []
    var before = scanner.point
    while let step = try scanner.step() {
      durableWatermark = max(durableWatermark, step.durableWatermark)
      if !step.isFooter { unsynced.append((before, step)) }
      // Commits up to the watermark were synced and need no verification, so remove them here.
      let covered = unsynced.prefix { $0.commit.point.frame <= durableWatermark }.count
      unsynced.removeFirst(covered)
      walk.apply(step)
      before = step.point
    }
    for (before, commit) in unsynced where commit.point.frame > durableWatermark {
      guard try scanner.verifyImages(of: commit) else {
        try rebuild(upTo: before)
        return
      }
      report.verifiedCommitCount += 1
    }
  }

  /// Walks the log again, but stops at `end`, because the commit after `end` is incomplete.
  private mutating func rebuild(upTo end: CommitPoint) throws(StorageError) {
    walk = LogWalk(from: start)
    var scanner = scanner
    while point.frame < end.frame, let step = try scanner.step(upTo: end.frame) { walk.apply(step) }
  }

  /// Checks that the walk did not stop at a damaged frame that had been synced.
  ///
  /// This is step R1.4 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Throws: `corrupt` if a valid group header or footer after the end of the walk shows that the
  ///   frame at which the walk stopped had been synced.
  private mutating func lookBehind() throws(StorageError) {
    let geometry = header.geometry
    let stop = geometry.next(after: point.frame)
    for segment in table.segments where segment.number >= geometry.segment(of: stop) {
      if let footer = try scanner.footer(of: segment.number) {
        durableWatermark = max(durableWatermark, footer.point.frame)
      }
      for slot in 1..<(geometry.framesPerSegment - geometry.footerFrames) {
        let frame = geometry.firstFrame(of: segment.number) + UInt64(slot - 1)
        guard frame >= stop else { continue }
        guard let found = try scanner.header(at: frame) else { continue }
        durableWatermark = max(durableWatermark, found.header.durableUpTo)
        report.discardedFrameCount += 1 + found.header.images.count
      }
    }
    guard durableWatermark < stop else {
      throw .corrupt(
        "The log is corrupt: frame \(stop) is missing or invalid, although all frames up to frame "
          + "\(durableWatermark) had been synced. Restore a backup. To examine the damage later, "
          + "copy the damaged files first.",
        file: geometry.segmentName(geometry.segment(of: stop)))
    }
  }

  /// Syncs all commits that were found, before any of them is used.
  ///
  /// This is step R1.5 of `Docs/Internals/Concurrency.md`.
  ///
  /// The method skips segments that are already durable. Even a sync of a file without dirty pages
  /// waits for the disk to flush its cache, and a long log has many files.
  package func syncAll(_ log: LogFiles) throws(StorageError) {
    for segment in table.segments
    where log.geometry.lastFrame(of: segment.number) > durableWatermark {
      try segment.file.sync()
    }
    try log.syncDirectory()
  }
}
