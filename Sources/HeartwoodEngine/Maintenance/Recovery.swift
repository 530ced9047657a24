/// What opening a store found in its log.
public struct RecoveryReport: Hashable, Sendable {
  /// The newest whole commit: the state the store opened with.
  public var generation = Generation(frame: 0)
  /// Commits found in the log behind the page file's state, one by one or summed up by footers.
  public var commitCount = 0
  /// Log segments whose footer was read instead of their group headers.
  public var segmentFooterCount = 0
  /// Commits above every witness, whose page images were all verified.
  public var verifiedCommitCount = 0
  /// Frames behind the newest whole commit that belong to nothing: an unfinished, never
  /// acknowledged end.
  public var discardedFrameCount = 0
  /// The largest generation known to have been synced.
  public var witness = Generation(frame: 0)
  /// Whether the machine was restarted since the store was last open, so that a new lineage began.
  public var startedLineage = false
  /// How long it took.
  public var duration: Duration = .zero
}

/// Finds the newest whole commit in the files, step by step as R1 in `Docs/Concurrency.md`.
///
/// Reads only; what it finds is acted on after ``syncAll(_:)``.
package struct Recovery {
  package private(set) var point: CommitPoint
  package private(set) var index: PageIndex
  package private(set) var lineages: [EndedLineage]
  package private(set) var report = RecoveryReport()
  private let header: HeaderSlot
  private let start: LogStart
  private let table: SegmentTable
  /// A scanner that stands at the start; walks go on from copies of it.
  private let scanner: LogScanner
  private var witness: FrameNumber

  /// Walks the log behind the state in the page file.
  ///
  /// - Parameters:
  ///   - header: The newest of `slots`, which are both header slots as read.
  ///   - start: The page file's state, or the end of the map.
  /// - Throws: `corrupt` if something is missing that had been synced once.
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
    point = start.point
    index = PageIndex(sharing: start.index)
    lineages = start.lineages
    // A map reaches up to a commit that was durable when it was made.
    witness = slots.compactMap { $0?.durableUpTo }.reduce(start.point.frame, max)
    scanner = try LogScanner(
      table: table, geometry: header.geometry, seed: header.identity.seed, from: start.point)
    try walk()
    try lookBehind()
    report.generation = Generation(frame: point.frame)
    report.witness = Generation(frame: witness)
  }

  /// R1.3: accepts commits by their headers or a footer, and verifies the images of those above the
  /// witness.
  private mutating func walk() throws(StorageError) {
    var scanner = scanner
    var unsynced: [(before: CommitPoint, commit: ScannedCommit)] = []
    var before = scanner.point
    while let step = try scanner.step() {
      witness = max(witness, step.witness)
      if case .commit(let commit) = step { unsynced.append((before, commit)) }
      // Commits a later header or a footer vouches for were synced; they need no look at their
      // images, and keeping only the others bounds the memory this takes.
      let covered = unsynced.prefix { $0.commit.point.frame <= witness }.count
      unsynced.removeFirst(covered)
      apply(step)
      before = step.point
    }
    for (before, commit) in unsynced where commit.point.frame > witness {
      guard try scanner.verifyImages(of: commit) else {
        try rebuild(upTo: before)
        return
      }
      report.verifiedCommitCount += 1
    }
  }

  private mutating func apply(_ step: LogStep) {
    for image in step.images { index.set(image.page, to: image.frame) }
    point = step.point
    switch step {
    case .commit(let commit):
      if let ended = commit.ended { lineages.append(ended) }
      report.commitCount += 1
    case .segment(let segment):
      report.commitCount += segment.commitCount
      report.segmentFooterCount += 1
    }
  }

  /// Starts over and stops at `end`, because the commit behind it is not whole.
  private mutating func rebuild(upTo end: CommitPoint) throws(StorageError) {
    index = PageIndex(sharing: start.index)
    lineages = start.lineages
    point = start.point
    report.commitCount = 0
    report.segmentFooterCount = 0
    var scanner = scanner
    while point.frame < end.frame, let step = try scanner.step(upTo: end.frame) { apply(step) }
  }

  /// R1.4: tells a torn tail from damage, by every header and footer that verifies behind the stop.
  private mutating func lookBehind() throws(StorageError) {
    let geometry = header.geometry
    let stop = geometry.next(after: point.frame)
    for segment in table.segments where segment.number >= geometry.segment(of: stop) {
      if let footer = try scanner.footer(of: segment.number) {
        witness = max(witness, footer.point.frame)
      }
      for slot in 1..<(geometry.framesPerSegment - geometry.footerFrames) {
        let frame = geometry.firstFrame(of: segment.number) + UInt64(slot - 1)
        guard frame >= stop else { continue }
        guard let found = try scanner.header(at: frame) else { continue }
        witness = max(witness, found.header.durableUpTo)
        report.discardedFrameCount += 1 + found.header.images.count
      }
    }
    guard witness < stop else {
      throw .corrupt(
        "The log is damaged: frame \(stop) does not continue it, but everything up to frame "
          + "\(witness) had been synced. Restore a backup, or copy the files and examine them.",
        file: geometry.segmentName(geometry.segment(of: stop)))
    }
  }

  /// R1.5: makes all that was found durable before anybody acts on it.
  ///
  /// What ends at or below the witness is durable already. A sync of a file that has nothing to
  /// write still waits for the disk to empty its cache, and a long log has many files.
  package func syncAll(_ log: LogFiles) throws(StorageError) {
    for segment in table.segments where log.geometry.lastFrame(of: segment.number) > witness {
      try segment.file.sync()
    }
    try log.syncDirectory()
  }
}
