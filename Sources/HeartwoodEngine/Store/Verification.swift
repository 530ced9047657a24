/// The result of verifying an entire store.
public struct VerificationReport: Hashable, Sendable {
  /// The problems found, each described in one sentence.
  ///
  /// The array is empty if the store is intact.
  public var findings: [String] = []
  /// The generation that was checked.
  public var generation = Generation(frame: 0)
  /// The number of pages, in use or free, in the checked generation.
  public var pageCount = 0
  /// The number of free pages.
  public var freePageCount = 0
  /// The number of keyspaces.
  public var keyspaceCount = 0
  /// The number of entries in all keyspaces.
  public var entryCount = 0
  /// The number of complete commits that follow the checkpointed generation in the log.
  public var logCommitCount = 0
}

/// A check of one generation, of the part of the log that contains its pages, and of the pages that
/// belong only to older generations.
///
/// Every page must be either free or reachable exactly once. Hashes, key order, separators, depths
/// and counts must be correct. Corruption results in findings, never in an error.
final class Verification {
  private let files: StoreFiles
  private let state: GenerationState
  private var report = VerificationReport()
  private var visited: [Bool]

  init(files: StoreFiles, state: GenerationState) throws(StorageError) {
    self.files = files
    self.state = try state.renewed(alwaysVerifies: true)
    visited = Array(repeating: false, count: Int(state.point.pageCount))
    report.generation = Generation(frame: state.generation)
    report.pageCount = visited.count
  }

  /// Performs all checks, and returns the report.
  ///
  /// - Parameter oldest: A closure that returns a snapshot of the oldest live generation.
  func run(oldest: () throws -> Snapshot) throws -> VerificationReport {
    try noteError(of: checkTrees)
    try checkBitmaps()
    // Hold the maintenance lock, because a maintenance run would punch holes in the log and change
    // the page file during the check.
    try noteError { () throws(StorageError) in try files.maintenance.withLock(checkLog) }
    do {
      let snapshot = try oldest()
      defer { withExtendedLifetime(snapshot) {} }
      try checkOlderPages(snapshot.state)
    } catch let error as StorageError where error.kind == .corrupt || error.kind == .io {
      // Do not record the error twice if the check of the log has also found it.
      if !report.findings.contains(error.description) { record(error.description) }
    }
    return report
  }

  private func record(_ finding: String) { report.findings.append(finding) }

  /// Records an error thrown by `check` as a finding, or rethrows the error if it made the check
  /// impossible.
  private func noteError(
    of check: () throws(StorageError) -> Void
  ) throws(StorageError) {
    do throws(StorageError) { try check() } catch {
      let preventing: [StorageError.Kind] = [.suspended, .generationExpired, .closed, .forked]
      guard !preventing.contains(error.kind) else { throw error }
      record(error.description)
    }
  }

  // MARK: Trees

  private func checkTrees() throws(StorageError) {
    guard state.point.pageCount > 0 else { return }
    _ = check(Catalog.root)
    let rows = try Catalog.rows(in: state.view)
    let next = try Catalog.nextTree(in: state.view)
    report.keyspaceCount = rows.count
    for (name, row) in rows {
      if row.root.tree >= next {
        record(
          "Keyspace \"\(name)\" has tree number \(row.root.tree), but all tree numbers in use "
            + "should be below \(next).")
      }
      let count = check(row.root)
      report.entryCount += count
      if UInt64(count) != row.count {
        record(
          "The entry count of keyspace \"\(name)\" is \(count), but the catalog records "
            + "\(row.count).")
      }
    }
  }

  /// Checks one tree, and returns its entry count.
  private func check(_ root: TreeRoot) -> Int {
    var beyond: [PageNumber] = []
    let checks = TreeChecks(view: state.view, root: root) { page in
      guard Int(page) < visited.count else {
        beyond.append(page)
        return false
      }
      defer { visited[Int(page)] = true }
      return !visited[Int(page)]
    }
    report.findings += checks.findings
    for page in beyond { record("The store refers to page \(page), which does not exist.") }
    return checks.entryCount
  }

  // MARK: Free space

  private func checkBitmaps() throws(StorageError) {
    let perBitmap = BitmapLayout.pagesPerBitmap(pageByteCount: files.geometry.pageByteCount)
    for first in stride(from: 0, to: visited.count, by: perBitmap) {
      try noteError { () throws(StorageError) in try checkBitmap(first, perBitmap) }
    }
  }

  private func checkBitmap(_ first: Int, _ count: Int) throws(StorageError) {
    let reference = try state.view.page(PageNumber(first))
    defer { state.view.release(reference) }
    guard reference.bytes.load8(PageLayout.kind.offset) == PageKind.bitmap.rawValue else {
      return record("Page \(first) should be a bitmap page, but is not.")
    }
    if visited[first] { record("Bitmap page \(first) is part of a tree.") }
    visited[first] = true
    let existing = min(count, visited.count - first)
    for bit in 0..<existing {
      switch (Bitmap.bit(bit, in: reference.bytes), visited[first + bit]) {
      case (true, true): break
      case (true, false):
        record("Page \(first + bit) is marked as used, but nothing refers to it.")
      case (false, true): record("Page \(first + bit) is in use, but is marked as free.")
      case (false, false): report.freePageCount += 1
      }
    }
    var next = existing
    while let bit = Bitmap.first(true, in: reference.bytes, from: next, count: count) {
      record("Page \(first + bit) is marked as used, but does not exist.")
      next = bit + 1
    }
  }

  // MARK: The log

  /// Checks that a segment's header matches this store and the segment's position in the log.
  ///
  /// A damaged header is ignored, because a power cut may destroy it without harming the frames.
  private func checkHeader(of segment: Segment) throws(StorageError) {
    guard let header = try files.log.header(of: segment) else { return }
    if header.identity != files.identity || header.geometry != files.geometry
      || header.firstFrame != files.geometry.firstFrame(of: segment.number)
    {
      record(
        "Log segment \(files.geometry.segmentName(segment.number)) belongs to another store, or "
          + "to another position in the log.")
    }
  }

  /// Checks that the footers of the segments `sum.segment..<end` match the group headers.
  ///
  /// The check skips the segment in which reading began, because that segment's earlier commits
  /// were not read. The check also skips any segment whose footer was written during the check.
  private func checkFooters(
    from sum: SegmentFooterBuilder, to end: UInt64, _ scanner: LogScanner, _ start: LogStart
  ) throws(StorageError) {
    for segment in scanner.table.segments
    where segment.number >= sum.segment && segment.number < end {
      guard files.geometry.firstFrame(of: segment.number) > start.point.frame,
        let footer = try scanner.footer(of: segment.number),
        footer.point.frame <= state.generation
      else { continue }
      if segment.number != sum.segment || footer != sum.footer {
        record(
          "The footer of log segment \(files.geometry.segmentName(segment.number)) does not match "
            + "the segment's group headers.")
      }
    }
  }

  /// Verifies the retained frames, and the commits after the checkpointed generation.
  private func checkLog() throws(StorageError) {
    let header = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
    guard let start = try LogStart(header: header, log: files.log, upTo: state.generation)
    else { return }
    let first = files.geometry.segment(of: files.geometry.next(after: header.checkpointed.frame))
    let table = try files.log.openAll(from: first, isMapped: false)
    var scanner = try files.log.scanner(of: table, from: start.point)
    try checkRetained(start, table)
    var used: Set<UInt64> = []
    var summing = SegmentFooterBuilder(segment: first, geometry: files.geometry)
    while scanner.point.frame < state.generation, let commit = try scanner.next() {
      report.logCommitCount += 1
      let segment = files.geometry.segment(of: commit.point.frame)
      if summing.segment != segment {
        try checkFooters(from: summing, to: segment, scanner, start)
        summing = SegmentFooterBuilder(segment: segment, geometry: files.geometry)
      }
      summing.add(commit)
      used.formUnion(commit.images.map { files.geometry.segment(of: $0.frame) })
      used.insert(segment)
      if try !scanner.verifyImages(of: commit) {
        record("A page image of the commit that ends at frame \(commit.point.frame) is corrupt.")
      }
    }
    try checkFooters(from: summing, to: summing.segment + 1, scanner, start)
    for segment in table.segments where used.contains(segment.number) {
      try checkHeader(of: segment)
    }
    if scanner.point.frame != state.generation {
      record("The log ends at frame \(scanner.point.frame), before generation \(state.generation).")
    }
  }

  /// Checks that each retained frame contains its page, and that each named generation is readable.
  private func checkRetained(_ start: LogStart, _ table: SegmentTable) throws(StorageError) {
    let block = ByteBlock(count: files.geometry.pageByteCount)
    defer { block.keep() }
    for retained in start.map?.retainedFrames ?? [] where retained.frame > start.checkpointed.frame
    {
      let segment = table[files.geometry.segment(of: retained.frame)]
      let count = try segment?.file.read(
        into: block.bytes, at: files.geometry.offset(of: retained.frame))
      guard count == block.bytes.count,
        block.bytes.bytes.load64(PageLayout.frame.offset) == retained.frame,
        block.bytes.bytes.load32(PageLayout.page.offset) == retained.page,
        PageChecks.hash(block.bytes.bytes, seed: files.identity.seed)
          == block.bytes.bytes.load64(PageLayout.hash.offset)
      else {
        record("Frame \(retained.frame) should contain page \(retained.page), but does not.")
        continue
      }
    }
    let named = try NamedGenerations.read(files.log)
    let decision = files.counters.decision
    for (name, row) in named.rows.sorted(by: { $0.key < $1.key })
    where !decision.isAlive(row.generation) {
      record("The named generation \"\(name)\" (\(row.generation)) can no longer be read.")
    }
  }

  // MARK: Older generations

  /// Verifies the pages of the page file that belong only to generations before the checked one.
  ///
  /// Checking the oldest live generation is sufficient: if it reads a page from the log, no later
  /// generation reads that page from the page file.
  private func checkOlderPages(_ oldest: GenerationState) throws(StorageError) {
    guard oldest.generation < state.generation else { return }
    let checkpointed = oldest.files.counters.checkpointed
    try checkUsedPages(
      oldest.pruned(checkpointed: checkpointed, gone: []).renewed(alwaysVerifies: true))
  }

  /// Verifies the pages that a generation uses in the page file, except pages already verified.
  ///
  /// The caller retains the generation's state, so the state outlives the set of pages.
  private func checkUsedPages(_ oldest: GenerationState) throws(StorageError) {
    let used = UsedPages(view: oldest.view, geometry: files.geometry)
    defer { withExtendedLifetime(oldest) {} }
    var next = try used.next(from: 0)
    while let page = next {
      let isChecked =
        Int(page) < visited.count && visited[Int(page)] && state.index.frame(of: page) == 0
      if !isChecked, oldest.index.frame(of: page) == 0 {
        do throws(StorageError) { oldest.view.release(try oldest.view.page(page)) } catch {
          record("Generation \(oldest.generation) is damaged: \(error.description)")
        }
      }
      next = try used.next(from: page + 1)
    }
  }
}
