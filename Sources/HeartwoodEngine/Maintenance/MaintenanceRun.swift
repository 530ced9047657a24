/// The result of one maintenance run.
public struct CheckpointResult: Hashable, Sendable {
  /// The checkpointed generation: the page file holds it, and nothing up to it needs the log any
  /// more.
  public var checkpointedGeneration: Generation
  /// Pages written to the page file.
  public var pageCount = 0
  /// Log segments deleted.
  public var segmentCount = 0
  /// Bytes of log reclaimed within segments that stay, because no generation can read them any
  /// more.
  public var reclaimedByteCount = 0
  /// The oldest live generation that kept the checkpoint from advancing further, if one did.
  public var blockingGeneration: Generation?
}

/// One maintenance run: decides which generations are dead, then writes pages back to the page
/// file, deletes segments and reclaims frames that can no longer be read.
///
/// Steps M1 to M4 of `Docs/Internals/Concurrency.md`, by number. Runs are serialised by the
/// maintenance lock, and readers never wait for them. A process may die at any step: before the
/// decision is published nothing has changed, afterwards the next run completes the work.
struct MaintenanceRun {
  let files: StoreFiles
  let table: GenerationTable
  let queue: SyncQueue
  let writerLock: WriterLock
  /// The lineages that have ended, for the header slot and the map.
  let lineages: [EndedLineage]
  let sealing: Sealing
  /// Whether to write the header slot even if no page moves: it carries the durable watermark.
  let writesWatermark: Bool
  /// The number of log frames after the last map, or the page file's state, that justify a new map.
  let minReclaimFrameCount: UInt64

  /// The decision of a run.
  private struct Decision {
    /// The generation to which the page file advances.
    let low: FrameNumber
    /// The newest durable state, T in the steps of `Docs/Internals/Concurrency.md`.
    let newest: GenerationState
    /// The generations to retain, T last; empty if nothing is to be reclaimed.
    var retainedGenerations: [FrameNumber] = []
  }

  /// Runs maintenance, after waiting for a run in progress.
  ///
  /// - Complexity: One write for each run of adjacent pages, two syncs of the page file, one of the
  ///   log and one of the directory; for log reclamation, the map is written and synced, and one
  ///   hole punched for each run of dead frames.
  func run() throws(StorageError) -> CheckpointResult {
    try files.maintenance.withLock { () throws(StorageError) in
      try table.requireActive()
      guard !files.counters.hasFailed else { throw SyncQueue.writesDisabled }
      try files.opened.require()
      try queue.makeDurable(files.counters.appended)
      let map = try RetainedFrameMap.read(files.log)
      let decision = try decide(map)
      var result = CheckpointResult(
        checkpointedGeneration: Generation(frame: files.counters.checkpointed))
      if decision.low < decision.newest.generation {
        result.blockingGeneration = Generation(frame: decision.low)
      }
      do throws(StorageError) {
        // The contents read from `kept` may be a release that is not durable yet.
        try files.log.syncDirectory()
        files.activity.update { $0.directorySyncCount += 1 }
        try act(decision, map, &result)
      } catch {
        // A full disk leaves the log unchanged, and the next run starts again. Any other error may
        // have left pages that the system considers written.
        if error.kind == .io { files.counters.disableWriting(after: error) }
        throw error
      }
      files.closeDurableSegments()
      return result
    }
  }

  /// M1.3 to M1.11: publishes floor and decision.
  private func decide(_ map: RetainedFrameMap?) throws(StorageError) -> Decision {
    let counters = files.counters
    counters.store(counters.epoch | 1, CountersLayout.epoch)
    table.setDeciding(true)
    defer {
      counters.store((counters.epoch | 1) &+ 1, CountersLayout.epoch)
      table.setDeciding(false)
    }
    let newestRetained = counters.durable
    counters.raise(CountersLayout.floor, to: newestRetained)
    counters.fence()
    var found = Set(
      try files.locks.liveElsewhere(
        in: counters.checkpointed..<max(newestRetained, counters.checkpointed)))
    // This process's own pins do not show in the lock list; they are read after the floor is
    // published.
    found.formUnion(table.lockedGenerations)
    // Read after the locks: a process that names a generation writes the name before it releases
    // its pin.
    found.formUnion(try NamedGenerations.read(files.log).rows.values.map(\.generation))
    let newest = try table.state(at: newestRetained)
    let present = counters.decision
    // A lock on a dead generation belongs to a pin that is about to fail; counting it would protect
    // what an earlier run has released already.
    let alive = found.filter { $0 < newestRetained && present.isAlive($0) }.sorted()
    let low = alive.first ?? newestRetained
    guard low < newestRetained, isWorthReclaiming(map, alive, newestRetained) else {
      counters.publish(
        DecisionRecord(
          low: low, newestRetained: present.newestRetained, olderRetained: present.olderRetained))
      return Decision(low: low, newest: newest)
    }
    counters.publish(DecisionRecord(low: low, newestRetained: newestRetained, olderRetained: alive))
    // With more retained generations than the record can list, it ends earlier, and so does the
    // reclamation.
    let published = counters.decision
    return Decision(
      low: low, newest: newest,
      retainedGenerations: published.olderRetained + [published.newestRetained])
  }

  /// Returns whether a new map would drop enough: frames written since the last one, or frames it
  /// retains for generations that are no longer held.
  private func isWorthReclaiming(
    _ map: RetainedFrameMap?, _ alive: [FrameNumber], _ newestRetained: FrameNumber
  ) -> Bool {
    let checkpointed = files.counters.checkpointed
    guard let map, map.end.frame > checkpointed else {
      return newestRetained - checkpointed >= minReclaimFrameCount
    }
    let isOutdated = map.retainedGenerations.dropLast().contains { retainedGeneration in
      retainedGeneration.frame >= checkpointed && !alive.contains(retainedGeneration.frame)
    }
    return isOutdated
      || (newestRetained > map.end.frame && newestRetained - map.end.frame >= minReclaimFrameCount)
  }

  /// M1.12 to M4: the steps after the decision.
  private func act(
    _ decision: Decision, _ map: RetainedFrameMap?, _ result: inout CheckpointResult
  ) throws(StorageError) {
    let old = files.counters.checkpointed
    try announceCheckpointedState()
    let advanced = try checkpoint(decision, &result)
    let checkpointed = files.counters.checkpointed
    result.checkpointedGeneration = Generation(frame: checkpointed)
    var gone = try deleteSegments(upTo: checkpointed)
    if !decision.retainedGenerations.isEmpty {
      let retainedGenerations = try decision.retainedGenerations.map {
        generation throws(StorageError) in
        try retainedGeneration(generation, decision)
      }
      let reclaimed = try LogReclamation(
        files: files, retainedGenerations: retainedGenerations, checkpointed: checkpointed,
        lineages: lineages,
        previous: map
      ).run()
      gone.formUnion(reclaimed.deletedSegments)
      result.reclaimedByteCount = reclaimed.byteCount
    }
    result.segmentCount = gone.count
    if checkpointed > old || !gone.isEmpty { try prune(checkpointed, gone, advanced) }
    sealing.seal(upTo: table.durable)
  }

  /// M3.4 and M3.5 for a run that died before it announced the state of its header slot.
  ///
  /// This run writes the other slot. If that were the only announced one, readers would find no
  /// state to start at until this run is done.
  private func announceCheckpointedState() throws(StorageError) {
    let newest = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
    guard newest.identity == files.identity else {
      throw StorageError(
        .foreignStore,
        "The page file belongs to another store: a copy overwrote the files while this store was "
          + "open. Close the store in all processes, then restore a backup.", file: "pages")
    }
    guard newest.checkpointed.frame > files.counters.checkpointed else { return }
    try files.pageFile.file.sync()
    files.activity.update { $0.pageFileSyncCount += 1 }
    files.pageFile.adoptState(newest.checkpointed.frame, files.cache)
    files.counters.raise(CountersLayout.checkpointed, to: newest.checkpointed.frame)
  }

  /// M3: advances the page file to `low`; returns the commit it now holds, if that changed.
  private func checkpoint(
    _ decision: Decision, _ result: inout CheckpointResult
  ) throws(StorageError) -> CommitPoint? {
    if decision.low > files.counters.checkpointed {
      // Another process may have brought the page file to the state that this run continues from.
      files.pageFile.adoptState(files.counters.checkpointed, files.cache)
      let state = try state(decision)
      result.pageCount = try copyPages(of: state)
      try files.pageFile.file.sync()
      try writeHeader(checkpointed: state.point)
      files.pageFile.setOwnState(decision.low)
      files.counters.raise(CountersLayout.checkpointed, to: decision.low)
      let pageCount = result.pageCount
      files.activity.update {
        $0.checkpointCount += 1
        $0.checkpointedPageCount += pageCount
        $0.pageFileSyncCount += 2
      }
      return state.point
    }
    if writesWatermark {
      let newest = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
      try files.pageFile.file.sync()
      try writeHeader(checkpointed: newest.checkpointed)
    }
    return nil
  }

  /// M3.6: removes from the newest states, while nothing can append, the pages that are now in the
  /// page file and deleted segments; then truncates the pages that neither that state nor any later
  /// one has.
  private func prune(
    _ checkpointed: FrameNumber, _ gone: Set<UInt64>, _ advanced: CommitPoint?
  ) throws(StorageError) {
    try writerLock.acquire(timeout: nil)
    defer { writerLock.release() }
    _ = try table.catchUp()
    try table.prune(checkpointed: checkpointed, gone: gone)
    if let advanced { try files.pageFile.cut(max(advanced.pageCount, table.greatestPageCount)) }
  }

  /// Returns the state at `low`: a live one, the newest durable one, or one read back from the log.
  private func state(_ decision: Decision) throws(StorageError) -> GenerationState {
    if decision.newest.generation == decision.low { return decision.newest }
    if let live = table.liveState(at: decision.low) { return live }
    return try files.state(at: decision.low)
  }

  /// Returns the page locations of a generation to retain.
  private func retainedGeneration(
    _ generation: FrameNumber, _ decision: Decision
  ) throws(StorageError) -> LogReclamation.RetainedGeneration {
    if decision.newest.generation == generation {
      return LogReclamation.RetainedGeneration(
        point: decision.newest.point, index: decision.newest.index)
    }
    let found = try table.located(at: generation)
    return LogReclamation.RetainedGeneration(point: found.point, index: found.index)
  }

  /// M3.1: writes every page that is in use in this state and newer than the page file.
  ///
  /// Pages are written in page order, adjacent ones with one write. Each is verified before it
  /// leaves the log.
  private func copyPages(of state: GenerationState) throws(StorageError) -> Int {
    let checkpointed = files.counters.checkpointed
    // The last pages may be free and never be written, but a reader's mapping must cover them. The
    // commits have allocated the space already, unless a power cut has undone that.
    try files.pageFile.reserve(state.point.pageCount, mayHaveBeenCut: true)
    var moving: [PageNumber] = []
    state.index.forEach(newerThan: checkpointed) { page, _ in
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
  private func writeHeader(checkpointed: CommitPoint) throws(StorageError) {
    let slots = try HeaderSlot.readBoth(files.pageFile.file)
    let newest = try HeaderSlot.requireNewest(slots)
    let target = slots[0]?.sequence == newest.sequence ? 1 : 0
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    HeaderSlot(
      geometry: files.geometry, identity: files.identity, sequence: newest.sequence + 1,
      checkpointed: checkpointed, durableUpTo: files.counters.durable,
      lineages: lineages.filter { $0.end < checkpointed.frame }
    ).encode(to: block.bytes)
    try files.pageFile.file.write([block.bytes.bytes], at: HeaderSlotLayout.offsets[target])
    try files.pageFile.file.sync()
  }

  /// Deletes every segment that the page file covers, including those that an earlier run died
  /// before deleting.
  private func deleteSegments(upTo checkpointed: FrameNumber) throws(StorageError) -> Set<UInt64> {
    let covered = try files.log.existing().filter {
      files.geometry.lastSlot(of: $0) <= checkpointed
    }
    try files.deleteSegments(covered)
    return Set(covered)
  }
}
