/// What one run of maintenance did.
public struct CheckpointResult: Hashable, Sendable {
  /// The generation the page file now holds: nothing up to it needs the log any more.
  public var backfilled: Generation
  /// Pages written to the page file.
  public var pageCount = 0
  /// Log segments deleted.
  public var segmentCount = 0
  /// The oldest live generation that kept the checkpoint from going further, if one did.
  public var heldBackBy: Generation?
}

/// One run of maintenance: decide what is dead, then move pages home and delete segments.
///
/// Steps M1 to M3 of `Docs/Concurrency.md`, by number. One at a time, under the maintenance lock,
/// never on a reader's path. A process may die at any step: before the decision is published
/// nothing has happened, afterwards the next pass does the work.
package struct Pass {
  package let files: StoreFiles
  package let table: GenerationTable
  package let queue: SyncQueue
  package let gate: WriterGate
  /// Lineages that are over, for the header slot.
  package let lineages: [EndedLineage]
  /// Writes the header slot even when nothing moves: it carries the witness.
  package var writesWitness = false

  package init(
    files: StoreFiles, table: GenerationTable, queue: SyncQueue, gate: WriterGate,
    lineages: [EndedLineage], writesWitness: Bool = false
  ) {
    self.files = files
    self.table = table
    self.queue = queue
    self.gate = gate
    self.lineages = lineages
    self.writesWitness = writesWitness
  }

  /// Runs the pass; waits for one that is running already.
  ///
  /// - Complexity: One write for each run of adjacent pages, two syncs of the page file, one of the
  ///   log and one of the folder.
  package func run() throws(StorageError) -> CheckpointResult {
    try files.maintenance.withLock { () throws(StorageError) in
      guard !files.words.hasFailed else { throw SyncQueue.closedForWriting }
      try queue.makeDurable(files.words.appended)
      let (low, top) = try decide()
      var result = CheckpointResult(backfilled: Generation(frame: files.words.backfilled))
      if low < top { result.heldBackBy = Generation(frame: low) }
      do throws(StorageError) {
        try files.log.syncDirectory()
        files.counters.update { $0.directorySyncs += 1 }
        try checkpoint(low, &result)
      } catch {
        // Out of space leaves the log as it is, and the next pass starts again. Anything else may
        // have left pages behind that the system believes written.
        if error.kind == .io { files.words.setFailed() }
        throw error
      }
      return result
    }
  }

  /// M1.3 to M1.11: publishes floor and decision; returns `low` and T.
  private func decide() throws(StorageError) -> (low: FrameNumber, top: FrameNumber) {
    let words = files.words
    words.store(words.epoch | 1, CountersLayout.epoch)
    table.setDeciding(true)
    defer {
      words.store((words.epoch | 1) + 1, CountersLayout.epoch)
      table.setDeciding(false)
    }
    let top = words.durable
    words.raise(CountersLayout.floor, to: top)
    words.fence()
    var found = Set(
      try files.locks.liveElsewhere(in: words.backfilled..<max(top, words.backfilled)))
    // Our own pins do not show in the lock list; they are read after the floor is published.
    found.formUnion(table.lockedGenerations)
    let present = words.decision
    // A lock on a dead generation is an opener about to fail; counting it would protect what an
    // earlier pass has given up already.
    let low = found.filter { $0 < top && present.isAlive($0) }.min() ?? top
    words.publish(DecisionRecord(low: low, top: present.top, bounds: present.bounds))
    return (low, top)
  }

  /// M3: brings the page file to `low` and deletes what it has made superfluous.
  private func checkpoint(
    _ low: FrameNumber, _ result: inout CheckpointResult
  ) throws(StorageError) {
    if low > files.words.backfilled {
      let state = try state(at: low)
      result.pageCount = try copyPages(of: state)
      try files.pageFile.file.sync()
      try writeHeader(backfilled: state.point)
      files.words.raise(CountersLayout.backfilled, to: low)
      let end = files.geometry.offset(ofPage: state.point.pageCount)
      if try files.pageFile.file.byteCount() > end {
        try files.pageFile.file.setByteCount(end)
      }
      let pageCount = result.pageCount
      files.counters.update {
        $0.checkpoints += 1
        $0.pagesCheckpointed += pageCount
        $0.pageFileSyncs += 2
      }
    } else if writesWitness {
      guard let newest = HeaderSlot.newest(try HeaderSlot.readBoth(files.pageFile.file)) else {
        throw .corrupt("Neither header slot of the page file is whole.", file: "pages")
      }
      try files.pageFile.file.sync()
      try writeHeader(backfilled: newest.backfilled)
    }
    let backfilled = files.words.backfilled
    result.backfilled = Generation(frame: backfilled)
    try prune(backfilled)
    result.segmentCount = try deleteSegments(upTo: backfilled)
  }

  /// Lets the newest states forget what is in the page file now, while nobody appends.
  private func prune(_ backfilled: FrameNumber) throws(StorageError) {
    try gate.enter(timeout: nil)
    defer { gate.leave() }
    try table.prune(backfilled: backfilled)
  }

  /// The state at `low`: a live one, the newest durable one, or one read back from the log.
  private func state(at low: FrameNumber) throws(StorageError) -> GenerationState {
    let durable = table.durable
    if durable.generation == low { return durable }
    if let live = table.liveStates[low] { return live }
    return try files.state(at: low)
  }

  /// M3.1: writes every page that is in use at this state and newer than the page file.
  ///
  /// Pages go in page order, adjacent ones in one write. Each is verified before it leaves the log.
  private func copyPages(of state: GenerationState) throws(StorageError) -> Int {
    let backfilled = files.words.backfilled
    var moving: [PageNumber] = []
    state.index.forEach { page, frame in
      if frame > backfilled && page < state.point.pageCount { moving.append(page) }
    }
    let used = UsedPages(view: state.view, geometry: files.geometry)
    var inUse: [PageNumber] = []
    for page in moving where try used.contains(page) { inUse.append(page) }
    moving = inUse
    var start = 0
    while start < moving.count {
      var end = start + 1
      while end < moving.count, moving[end] == moving[end - 1] + 1, end - start < 256 { end += 1 }
      try copyRun(moving[start..<end], of: state)
      start = end
    }
    let end = files.geometry.offset(ofPage: state.point.pageCount)
    // The last pages may be free and unwritten; a reader's mapping must reach them all the same.
    if try files.pageFile.file.byteCount() < end { try files.pageFile.file.setByteCount(end) }
    return moving.count
  }

  private func copyRun(
    _ pages: ArraySlice<PageNumber>, of state: GenerationState
  ) throws(StorageError) {
    var references: [PageReference] = []
    defer { for reference in references { state.view.release(reference) } }
    for page in pages {
      let reference = try state.view.page(page)
      references.append(reference)
      let bytes = reference.bytes
      guard
        PageChecks.hash(bytes, seed: files.identity.seed) == bytes.load64(PageLayout.hash.offset),
        bytes.load64(PageLayout.frame.offset) == state.index.frame(of: page)
      else {
        throw .corrupt("A page of the log was damaged after it was read.", page: page)
      }
      files.pageFile.clearVerified(page)
      files.cache.forget(UInt64(page) << 1)
    }
    guard let first = pages.first else { return }
    try files.pageFile.file.write(
      references.map(\.bytes), at: files.geometry.offset(ofPage: first))
  }

  /// M3.3 and M3.4: writes the slot that is not the newest valid one on disk, and syncs.
  private func writeHeader(backfilled: CommitPoint) throws(StorageError) {
    let slots = try HeaderSlot.readBoth(files.pageFile.file)
    guard let newest = HeaderSlot.newest(slots) else {
      throw .corrupt("Neither header slot of the page file is whole.", file: "pages")
    }
    let target = slots[0]?.sequence == newest.sequence ? 1 : 0
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    HeaderSlot(
      geometry: files.geometry, identity: files.identity, sequence: newest.sequence + 1,
      backfilled: backfilled, durableUpTo: files.words.durable, lineages: lineages
    ).encode(to: block.bytes)
    try files.pageFile.file.write([block.bytes.bytes], at: HeaderSlotLayout.offsets[target])
    try files.pageFile.file.sync()
  }

  /// Deletes every segment the page file covers, also those an earlier pass died before deleting.
  private func deleteSegments(upTo backfilled: FrameNumber) throws(StorageError) -> Int {
    var count = 0
    for segment in try files.log.existing()
    where files.geometry.lastSlot(of: segment) <= backfilled {
      try files.log.remove(segment)
      count += 1
    }
    if count > 0 {
      try files.log.syncDirectory()
      let deleted = count
      files.counters.update {
        $0.segmentsDeleted += deleted
        $0.directorySyncs += 1
      }
    }
    return count
  }
}
