/// The result of one maintenance run.
public struct CheckpointResult: Hashable, Sendable {
  /// The checkpointed generation: the page file holds it, and nothing up to it needs the log any
  /// more.
  public var backfilled: Generation
  /// Pages written to the page file.
  public var pageCount = 0
  /// Log segments deleted.
  public var segmentCount = 0
  /// Bytes of log reclaimed within segments that stay, because no generation can read them any
  /// more.
  public var reclaimedByteCount = 0
  /// The oldest live generation that kept the checkpoint from advancing further, if one did.
  public var heldBackBy: Generation?
}

/// One maintenance run: decides which generations are dead, then writes pages back to the page
/// file, deletes segments and reclaims frames that can no longer be read.
///
/// Steps M1 to M4 of `Docs/Internals/Concurrency.md`, by number. Runs are serialised by the
/// maintenance lock, and readers never wait for them. A process may die at any step: before the
/// decision is published nothing has changed, afterwards the next run completes the work.
struct Pass {
  let files: StoreFiles
  let table: GenerationTable
  let queue: SyncQueue
  let gate: WriterGate
  /// The lineages that have ended, for the header slot and the map.
  let lineages: [EndedLineage]
  let sealing: Sealing
  /// Whether to write the header slot even if no page moves: it carries the durable watermark.
  let writesWitness: Bool
  /// The number of log frames after the last map, or the page file's state, that justify a new map.
  let minReclaimFrameCount: UInt64

  /// The decision of a run.
  private struct Decision {
    /// The generation to which the page file advances.
    let low: FrameNumber
    /// The newest durable state: T.
    let newest: GenerationState
    /// The generations to retain, T last; empty if nothing is to be reclaimed.
    var boundaries: [FrameNumber] = []
  }

  /// Runs maintenance, after waiting for a run in progress.
  ///
  /// - Complexity: One write for each run of adjacent pages, two syncs of the page file, one of the
  ///   log and one of the directory; for log reclamation, the map is written and synced, and one
  ///   hole punched for each run of dead frames.
  func run() throws(StorageError) -> CheckpointResult {
    try files.maintenance.withLock { () throws(StorageError) in
      try table.requireActive()
      guard !files.words.hasFailed else { throw SyncQueue.closedForWriting }
      try files.opened.require()
      try queue.makeDurable(files.words.appended)
      let map = try SurvivorMap.read(files.log)
      let decision = try decide(map)
      var result = CheckpointResult(backfilled: Generation(frame: files.words.backfilled))
      if decision.low < decision.newest.generation {
        result.heldBackBy = Generation(frame: decision.low)
      }
      do throws(StorageError) {
        // The contents read from `kept` may be a release that is not durable yet.
        try files.log.syncDirectory()
        files.counters.update { $0.directorySyncs += 1 }
        try act(decision, map, &result)
      } catch {
        // A full disk leaves the log unchanged, and the next run starts again. Any other error may
        // have left pages that the system considers written.
        if error.kind == .io { files.words.noteFailure(error) }
        throw error
      }
      files.closeDurableSegments()
      return result
    }
  }

  /// M1.3 to M1.11: publishes floor and decision.
  private func decide(_ map: SurvivorMap?) throws(StorageError) -> Decision {
    let words = files.words
    words.store(words.epoch | 1, CountersLayout.epoch)
    table.setDeciding(true)
    defer {
      words.store((words.epoch | 1) &+ 1, CountersLayout.epoch)
      table.setDeciding(false)
    }
    let top = words.durable
    words.raise(CountersLayout.floor, to: top)
    words.fence()
    var found = Set(
      try files.locks.liveElsewhere(in: words.backfilled..<max(top, words.backfilled)))
    // This process's own pins do not show in the lock list; they are read after the floor is
    // published.
    found.formUnion(table.lockedGenerations)
    // Read after the locks: a process that names a generation writes the name before it releases
    // its pin.
    found.formUnion(try KeptGenerations.read(files.log).rows.values.map(\.generation))
    let newest = try table.state(at: top)
    let present = words.decision
    // A lock on a dead generation belongs to a pin that is about to fail; counting it would protect
    // what an earlier run has released already.
    let alive = found.filter { $0 < top && present.isAlive($0) }.sorted()
    let low = alive.first ?? top
    guard low < top, isWorthReclaiming(map, alive, top) else {
      words.publish(DecisionRecord(low: low, top: present.top, bounds: present.bounds))
      return Decision(low: low, newest: newest)
    }
    words.publish(DecisionRecord(low: low, top: top, bounds: alive))
    // With more retained generations than the record can list, it ends earlier, and so does the
    // reclamation.
    let published = words.decision
    return Decision(low: low, newest: newest, boundaries: published.bounds + [published.top])
  }

  /// Returns whether a new map would drop enough: frames written since the last one, or frames it
  /// retains for generations that are no longer held.
  private func isWorthReclaiming(
    _ map: SurvivorMap?, _ alive: [FrameNumber], _ top: FrameNumber
  ) -> Bool {
    let backfilled = files.words.backfilled
    guard let map, map.end.frame > backfilled else {
      return top - backfilled >= minReclaimFrameCount
    }
    let isOutdated = map.boundaries.dropLast().contains { boundary in
      boundary.frame >= backfilled && !alive.contains(boundary.frame)
    }
    return isOutdated || (top > map.end.frame && top - map.end.frame >= minReclaimFrameCount)
  }

  /// M1.12 to M4: the steps after the decision.
  private func act(
    _ decision: Decision, _ map: SurvivorMap?, _ result: inout CheckpointResult
  ) throws(StorageError) {
    let old = files.words.backfilled
    try announceFoundState()
    let home = try checkpoint(decision, &result)
    let backfilled = files.words.backfilled
    result.backfilled = Generation(frame: backfilled)
    var gone = try deleteSegments(upTo: backfilled)
    if !decision.boundaries.isEmpty {
      let boundaries = try decision.boundaries.map { generation throws(StorageError) in
        try boundary(generation, decision)
      }
      let reclaimed = try Reclaim(
        files: files, boundaries: boundaries, backfilled: backfilled, lineages: lineages,
        previous: map
      ).run()
      gone.formUnion(reclaimed.deletedSegments)
      result.reclaimedByteCount = reclaimed.byteCount
    }
    result.segmentCount = gone.count
    if backfilled > old || !gone.isEmpty { try prune(backfilled, gone, home) }
    sealing.seal(upTo: table.durable)
  }

  /// M3.4 and M3.5 for a run that died before it announced the state of its header slot.
  ///
  /// This run writes the other slot. If that were the only announced one, readers would find no
  /// state to start at until this run is done.
  private func announceFoundState() throws(StorageError) {
    let newest = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
    guard newest.identity == files.identity else {
      throw StorageError(
        .foreignStore,
        "The page file belongs to another store: a copy overwrote the files while this store was "
          + "open. Close the store in all processes, then restore a backup.", file: "pages")
    }
    guard newest.backfilled.frame > files.words.backfilled else { return }
    try files.pageFile.file.sync()
    files.counters.update { $0.pageFileSyncs += 1 }
    files.pageFile.noteState(newest.backfilled.frame, files.cache)
    files.words.raise(CountersLayout.backfilled, to: newest.backfilled.frame)
  }

  /// M3: advances the page file to `low`; returns the commit it now holds, if that changed.
  private func checkpoint(
    _ decision: Decision, _ result: inout CheckpointResult
  ) throws(StorageError) -> CommitPoint? {
    if decision.low > files.words.backfilled {
      // Another process may have brought the page file to the state that this run continues from.
      files.pageFile.noteState(files.words.backfilled, files.cache)
      let state = try state(decision)
      result.pageCount = try copyPages(of: state)
      try files.pageFile.file.sync()
      try writeHeader(backfilled: state.point)
      files.pageFile.noteOwnState(decision.low)
      files.words.raise(CountersLayout.backfilled, to: decision.low)
      let pageCount = result.pageCount
      files.counters.update {
        $0.checkpoints += 1
        $0.pagesCheckpointed += pageCount
        $0.pageFileSyncs += 2
      }
      return state.point
    }
    if writesWitness {
      let newest = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
      try files.pageFile.file.sync()
      try writeHeader(backfilled: newest.backfilled)
    }
    return nil
  }

  /// M3.6: removes from the newest states, while nothing can append, the pages that are now in the
  /// page file and deleted segments; then truncates the pages that neither that state nor any later
  /// one has.
  private func prune(
    _ backfilled: FrameNumber, _ gone: Set<UInt64>, _ home: CommitPoint?
  ) throws(StorageError) {
    try gate.enter(timeout: nil)
    defer { gate.leave() }
    _ = try table.catchUp()
    try table.prune(backfilled: backfilled, gone: gone)
    if let home { try files.pageFile.cut(max(home.pageCount, table.greatestPageCount)) }
  }

  /// Returns the state at `low`: a live one, the newest durable one, or one read back from the log.
  private func state(_ decision: Decision) throws(StorageError) -> GenerationState {
    if decision.newest.generation == decision.low { return decision.newest }
    if let live = table.liveState(at: decision.low) { return live }
    return try files.state(at: decision.low)
  }

  /// Returns the page locations of a generation to retain.
  private func boundary(
    _ generation: FrameNumber, _ decision: Decision
  ) throws(StorageError) -> Reclaim.Boundary {
    if decision.newest.generation == generation {
      return Reclaim.Boundary(point: decision.newest.point, index: decision.newest.index)
    }
    let found = try table.located(at: generation)
    return Reclaim.Boundary(point: found.point, index: found.index)
  }

  /// M3.1: writes every page that is in use in this state and newer than the page file.
  ///
  /// Pages are written in page order, adjacent ones with one write. Each is verified before it
  /// leaves the log.
  private func copyPages(of state: GenerationState) throws(StorageError) -> Int {
    let backfilled = files.words.backfilled
    // The last pages may be free and never be written, but a reader's mapping must cover them. The
    // commits have allocated the space already, unless a power cut has undone that.
    try files.pageFile.reserve(state.point.pageCount, mayHaveBeenCut: true)
    var moving: [PageNumber] = []
    state.index.forEach(newerThan: backfilled) { page, _ in
      if page < state.point.pageCount { moving.append(page) }
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
    try files.pageFile.file.write(references.map(\.bytes), at: files.geometry.offset(ofPage: first))
  }

  /// M3.3 and M3.4: writes the slot that is not the newest valid one on disk, and syncs.
  private func writeHeader(backfilled: CommitPoint) throws(StorageError) {
    let slots = try HeaderSlot.readBoth(files.pageFile.file)
    let newest = try HeaderSlot.requireNewest(slots)
    let target = slots[0]?.sequence == newest.sequence ? 1 : 0
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    HeaderSlot(
      geometry: files.geometry, identity: files.identity, sequence: newest.sequence + 1,
      backfilled: backfilled, durableUpTo: files.words.durable,
      lineages: lineages.filter { $0.end < backfilled.frame }
    ).encode(to: block.bytes)
    try files.pageFile.file.write([block.bytes.bytes], at: HeaderSlotLayout.offsets[target])
    try files.pageFile.file.sync()
  }

  /// Deletes every segment that the page file covers, including those that an earlier run died
  /// before deleting.
  private func deleteSegments(upTo backfilled: FrameNumber) throws(StorageError) -> Set<UInt64> {
    let covered = try files.log.existing().filter { files.geometry.lastSlot(of: $0) <= backfilled }
    try files.deleteSegments(covered)
    return Set(covered)
  }
}
