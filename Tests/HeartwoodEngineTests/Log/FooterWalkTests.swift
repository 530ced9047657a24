import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that walks over a log have the same results with and without its footers.
@Suite("A walk over footers")
struct FooterWalkTests {
  /// The result of a walk.
  private struct Outcome: Equatable {
    var point: CommitPoint
    var commitCount = 0
    var index: [PageNumber: FrameNumber] = [:]
    var lineages: [EndedLineage] = []
  }

  private func walk(
    _ log: LogFixture, from origin: CommitPoint, upTo limit: FrameNumber = .max, footers: Bool
  ) throws -> (outcome: Outcome, footerCount: Int) {
    var scanner = try log.scanner(from: origin)
    var outcome = Outcome(point: origin)
    var footerCount = 0
    while scanner.point.frame < limit {
      let step = footers ? try scanner.step(upTo: limit) : try scanner.next()
      guard let step, step.point.frame <= limit else { break }
      for image in step.images { outcome.index[image.page] = image.frame }
      outcome.point = step.point
      outcome.commitCount += step.commitCount
      if let ended = step.ended { outcome.lineages.append(ended) }
      if step.isFooter { footerCount += 1 }
    }
    return (outcome, footerCount)
  }

  /// Returns a log that contains commits of various sizes, lineages that begin after torn commits,
  /// and void ranges.
  private func randomLog(_ seed: UInt64) throws -> LogFixture {
    var generator = SeededGenerator(seed: seed)
    let log = try LogFixture(framesPerSegment: [8, 8, 16, 64][Int(seed % 4)])
    for _ in 0..<Int(generator.next() % 40 + 5) {
      let last = log.point
      let large = generator.next() % 8 == 0
      let count = Int(generator.next() % (large ? 40 : 5))
      try log.commit((0..<count).map { _ in PageNumber(generator.next() % 30) })
      switch generator.next() % 12 {
      case 0:
        // Tear the commit, and begin a new lineage after the previous commit.
        try log.flip(40, of: log.geometry.next(after: last.frame))
        let next = try #require(try log.files.existing().last) + 1 + generator.next() % 2
        log.point = last
        log.lineage += 1
        try log.commit([], base: log.geometry.firstFrame(of: next))
      case 1 where count > 1:
        try void(log, after: last, generator.next())
      default:
        break
      }
    }
    return log
  }

  /// Rewrites the header of the newest commit to include a void range that covers some of its
  /// images.
  private func void(_ log: LogFixture, after last: CommitPoint, _ chance: UInt64) throws {
    let base = log.geometry.next(after: last.frame)
    let header = try #require(try log.scanner().header(at: base)).header
    guard let commit = header.commit else { return }
    var group = HandMadeGroup(frame: base, base: base)
    group.lineage = header.lineage
    group.previous = header.previous
    group.pageCount = commit.pageCount
    group.images = header.images.map { ($0.page, $0.hash) }
    let first = base + 1 + chance % 3
    group.voids = [(first, first + chance / 3 % 4)]
    let bytes = group.bytes(pageByteCount: LogFixture.pageByteCount, seed: log.seed)
    try log.write(bytes, at: base)
    log.point.digest = HandMadeGroup.digest(of: bytes)
    log.point.time = group.time
  }

  @Test(.evidence("D2"), arguments: TestScale.seeds(quick: 9, all: 60))
  func `finds the same as a walk over group headers`(seed: UInt64) throws {
    let log = try randomLog(seed)
    let commits = try log.commits()
    let plain = try log.recovery()
    let footerCount = try log.seal()
    let (complete, used) = try walk(log, from: .empty, footers: true)
    #expect(complete == (try walk(log, from: .empty, footers: false).outcome))
    #expect(complete.point == log.point)
    #expect(used <= footerCount)
    let recovery = try log.recovery()
    #expect(recovery.point == plain.point)
    #expect(recovery.lineages == plain.lineages)
    #expect(recovery.report.commitCount == commits.count)
    #expect(recovery.report.segmentFooterCount == used)
    for page in 0..<PageNumber(30) {
      #expect(recovery.index.frame(of: page) == plain.index.frame(of: page), "page \(page)")
    }
    // Walk from every third commit to the end of the log, and from the start of the log to every
    // third commit.
    for index in commits.indices where index % 3 == 0 {
      let point = commits[index].point
      #expect(
        try walk(log, from: point, footers: true).outcome
          == walk(log, from: point, footers: false).outcome, "from \(point.frame)")
      #expect(
        try walk(log, from: .empty, upTo: point.frame, footers: true).outcome
          == walk(log, from: .empty, upTo: point.frame, footers: false).outcome,
        "up to \(point.frame)")
    }
  }

  @Test func `reads footers where there are any, and group headers elsewhere`() throws {
    let log = try LogFixture()
    // Each segment consists of six frames: two commits of two frames each, and the beginning of a
    // commit that extends into the next segment.
    for page: PageNumber in 0..<20 { try log.commit(page % 3 == 2 ? [page, 50, 51] : [page]) }
    let count = try log.seal()
    #expect(count >= 4)
    let walked = try walk(log, from: .empty, footers: true)
    #expect(walked.footerCount >= count - 1)
    #expect(walked.outcome.commitCount == 20)
    #expect(try log.recovery().report.verifiedCommitCount < 20)
  }

  /// Changes the contents of every footer, and recomputes its hash.
  private func forge(
    _ log: LogFixture, _ change: (inout SegmentFooter) -> Void
  ) throws {
    for (segment, footer) in try log.footers() {
      var footer = footer
      change(&footer)
      try log.write(footer, to: segment)
    }
  }

  @Test(.evidence("B3")) func `ignores footers that do not belong to its commits`() throws {
    let log = try LogFixture()
    for page: PageNumber in 0..<20 { try log.commit([page]) }
    let plain = try walk(log, from: .empty, footers: false).outcome
    let changes: [(inout SegmentFooter) -> Void] = [
      { $0.point.lineage += 1 }, { $0.commitCount = 0 }, { $0.point.frame = 0 },
      { $0.point.frame += 64 }, { $0.rows.swapAt(0, 1) },
    ]
    for (index, change) in changes.enumerated() {
      try forge(log, change)
      let walked = try walk(log, from: .empty, footers: true)
      #expect(walked.outcome == plain, "change \(index)")
      #expect(walked.footerCount == 0, "change \(index)")
    }
  }

  /// The walk enters the segment in the middle of a commit.
  ///
  /// This commit ends after the frame that the forged footer lists.
  @Test(.evidence("B3")) func `never returns to commits that a footer lists`() throws {
    let log = try LogFixture()
    for page: PageNumber in 0..<20 { try log.commit([page, 50, 51]) }
    let plain = try walk(log, from: .empty, footers: false).outcome
    var footer = try #require(try log.footers()[1])
    footer.point.frame = log.geometry.firstFrame(of: 1)
    footer.commitCount = 9
    footer.rows = []
    try log.write(footer, to: 1)
    let walked = try walk(log, from: .empty, footers: true)
    #expect(walked.outcome == plain)
    #expect(walked.footerCount == 0)
  }

  @Test(.evidence("B2")) func `rejects a footer that counts pages that were not created`() throws {
    let log = try LogFixture()
    for page: PageNumber in 0..<20 { try log.commit([page]) }
    try forge(log) { $0.point.pageCount = 1 << 30 }
    let error = #expect(throws: StorageError.self) { try log.recovery() }
    #expect(error?.kind == .corrupt)
  }

  @Test func `needs no group header that a footer summarises`() throws {
    let log = try LogFixture()
    for page: PageNumber in 0..<20 { try log.commit([page]) }
    let plain = try walk(log, from: .empty, footers: false).outcome
    try log.seal()
    // Damage the header of the second commit in the first segment.
    try log.flip(40, of: 3)
    #expect(try walk(log, from: .empty, footers: true).outcome == plain)
    #expect(try log.commits().count == 1)
  }

  @Test(.evidence("D10")) func `takes a footer after its end as a durable watermark`() throws {
    let log = try LogFixture()
    var points: [CommitPoint] = []
    for page: PageNumber in 0..<20 { points.append(try log.commit([page])) }
    let footers = try log.footers()
    // The page file contains the state of a commit in the first segment, so the walk starts within
    // this segment and cannot use its footer.
    try log.flip(40, of: log.geometry.next(after: points[1].frame))
    #expect(try log.recovery(behind: points[0]).point == points[1])
    try log.write(try #require(footers[2]), to: 2)
    let error = #expect(throws: StorageError.self) { try log.recovery(behind: points[0]) }
    #expect(error?.kind == .corrupt)
  }
}
