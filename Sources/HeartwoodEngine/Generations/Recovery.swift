/// What opening a store found in its log.
public struct RecoveryReport: Hashable, Sendable {
  /// The newest whole commit: the state the store opened with.
  public var generation = Generation(frame: 0)
  /// Commits found in the log behind the page file's state.
  public var commitCount = 0
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
  package private(set) var index = PageIndex()
  package private(set) var lineages: [EndedLineage]
  package private(set) var report = RecoveryReport()
  private let header: HeaderSlot
  private let table: SegmentTable
  private var witness: FrameNumber

  /// Walks the log behind the state in the page file.
  ///
  /// - Parameter slots: Both header slots as read; `header` is the newest.
  /// - Throws: `corrupt` if something is missing that had been synced once.
  package init(
    header: HeaderSlot, slots: [HeaderSlot?], table: SegmentTable
  ) throws(StorageError) {
    self.header = header
    self.table = table
    point = header.backfilled
    lineages = header.lineages
    witness = slots.compactMap { $0?.durableUpTo }.max() ?? 0
    try walk()
    try lookBehind()
    report.generation = Generation(frame: point.frame)
    report.witness = Generation(frame: witness)
  }

  /// R1.3: accepts commits by their headers, and verifies the images of those above the witness.
  private mutating func walk() throws(StorageError) {
    var scanner = try scanner(from: header.backfilled)
    var unsynced: [(before: CommitPoint, commit: ScannedCommit)] = []
    var before = scanner.point
    while let commit = try scanner.next() {
      witness = max(witness, commit.witness)
      unsynced.append((before, commit))
      // Commits a later header vouches for were synced; they need no look at their images, and
      // keeping only the others bounds the memory this takes.
      let covered = unsynced.prefix { $0.commit.point.frame <= witness }.count
      unsynced.removeFirst(covered)
      apply(commit)
      before = commit.point
    }
    for (before, commit) in unsynced where commit.point.frame > witness {
      guard try scanner.verifyImages(of: commit) else {
        try rebuild(upTo: before)
        return
      }
      report.verifiedCommitCount += 1
    }
  }

  private func scanner(from point: CommitPoint) throws(StorageError) -> LogScanner {
    try LogScanner(
      table: table, geometry: header.geometry, seed: header.identity.seed, from: point)
  }

  private mutating func apply(_ commit: ScannedCommit) {
    for image in commit.images { index.set(image.page, to: image.frame) }
    if let ended = commit.ended { lineages.append(ended) }
    point = commit.point
    report.commitCount += 1
  }

  /// Starts over and stops at `end`, because the commit behind it is not whole.
  private mutating func rebuild(upTo end: CommitPoint) throws(StorageError) {
    index = PageIndex()
    lineages = header.lineages
    point = header.backfilled
    report.commitCount = 0
    var scanner = try scanner(from: header.backfilled)
    while point.frame < end.frame, let commit = try scanner.next() { apply(commit) }
  }

  /// R1.4: tells a torn tail from damage, by every header that verifies behind the stop.
  private mutating func lookBehind() throws(StorageError) {
    let geometry = header.geometry
    let stop = geometry.next(after: point.frame)
    let scanner = try scanner(from: point)
    for segment in table.segments {
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
  package func syncAll(_ log: LogFiles) throws(StorageError) {
    for segment in table.segments { try segment.file.sync() }
    try log.syncDirectory()
  }
}
