/// The result of recovery when a store is opened.
public struct RecoveryReport: Hashable, Sendable {
  /// The newest complete commit: the state the store opened with.
  public var generation = Generation(frame: 0)
  /// The number of commits found in the log after the page file's state, individually or by
  /// footers.
  public var commitCount = 0
  /// The number of log segments whose footer was read instead of their group headers.
  public var segmentFooterCount = 0
  /// The number of commits above the durable watermark, whose page images were all verified.
  public var verifiedCommitCount = 0
  /// The number of discarded frames after the newest complete commit: an unfinished, never
  /// acknowledged tail.
  public var discardedFrameCount = 0
  /// The durable watermark: the largest generation known to have been synced.
  public var durableWatermark = Generation(frame: 0)
  /// Whether the machine was restarted since the store was last open, which started a new lineage.
  public var startedLineage = false
  /// The duration of recovery.
  public var duration: Duration = .zero
}

/// Finds the newest complete commit in the files.
///
/// The steps of R1 in `Docs/Internals/Concurrency.md`. It only reads; its result may be used after
/// ``syncAll(_:)``.
package struct Recovery {
  package var point: CommitPoint { walk.point }
  package var index: PageIndex { walk.index }
  package var lineages: [EndedLineage] { walk.lineages }
  package private(set) var report = RecoveryReport()
  private var walk: LogWalk
  private let header: HeaderSlot
  private let start: LogStart
  private let table: SegmentTable
  /// A scanner at the start; walks continue from copies of it.
  private let scanner: LogScanner
  private var durableWatermark: FrameNumber

  /// Walks the log after the state in the page file.
  ///
  /// - Parameters:
  ///   - header: The newest of `slots`, which are both header slots as read.
  ///   - start: The page file's state, or the end of the map.
  /// - Throws: `corrupt` if something that had been synced is missing.
  package init(
    header: HeaderSlot, slots: [HeaderSlot?], start: LogStart, table: SegmentTable
  ) throws(StorageError) {
    guard !start.isOutdated else {
      throw .corrupt(
        "The page file's header is older than the map of the log. Restore a backup.",
        file: "pages")
    }
    self.header = header
    self.start = start
    self.table = table
    walk = LogWalk(from: start)
    // A map ends at a commit that was durable when the map was made.
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

  /// R1.3: accepts commits by their headers or a footer, and verifies the images of those above the
  /// durable watermark.
  private mutating func readOn() throws(StorageError) {
    var scanner = scanner
    var unsynced: [(before: CommitPoint, commit: LogStep)] = []
    var before = scanner.point
    while let step = try scanner.step() {
      durableWatermark = max(durableWatermark, step.durableWatermark)
      if !step.isFooter { unsynced.append((before, step)) }
      // Commits below the watermark of a later header or a footer were synced and need no
      // verification. Keeping only the others bounds the memory.
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

  /// Starts again and stops at `end`, because the commit after it is incomplete.
  private mutating func rebuild(upTo end: CommitPoint) throws(StorageError) {
    walk = LogWalk(from: start)
    var scanner = scanner
    while point.frame < end.frame, let step = try scanner.step(upTo: end.frame) { walk.apply(step) }
  }

  /// R1.4: distinguishes a torn tail from corruption, by every header and footer that verifies
  /// after the stop.
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
        "The log is damaged: frame \(stop) does not continue it, but everything up to frame "
          + "\(durableWatermark) had been synced. Restore a backup, or copy the files and examine "
          + "them.",
        file: geometry.segmentName(geometry.segment(of: stop)))
    }
  }

  /// R1.5: makes everything that was found durable before it is used.
  ///
  /// Segments that end at or below the watermark are durable already. A sync of a file without
  /// dirty pages still waits for the disk to flush its cache, and a long log has many files.
  package func syncAll(_ log: LogFiles) throws(StorageError) {
    for segment in table.segments
    where log.geometry.lastFrame(of: segment.number) > durableWatermark {
      try segment.file.sync()
    }
    try log.syncDirectory()
  }
}
