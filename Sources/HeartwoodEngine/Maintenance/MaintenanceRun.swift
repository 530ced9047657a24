import Synchronization

/// The result of one maintenance run.
public struct CheckpointResult: Hashable, Sendable {
  /// The checkpointed generation, whose pages are all in the page file.
  public var checkpointedGeneration: Generation
  /// The number of pages written to the page file.
  public var pageCount = 0
  /// The number of deleted log segments.
  public var segmentCount = 0
  /// The number of bytes that log reclamation freed because no generation needed them anymore.
  public var reclaimedByteCount = 0
  /// The oldest live generation if it prevented the checkpoint from advancing further, or `nil`
  /// otherwise.
  public var blockingGeneration: Generation?
}

/// One maintenance run, which performs steps M1 to M4 of `Docs/Internals/Concurrency.md`.
///
/// The maintenance lock serialises runs. Readers do not wait for runs, with one exception: a reader
/// that pins a specific generation waits while a run decides which generations are dead. A process
/// may die at any step. Before the run publishes its decision, this has no effect. Afterwards, the
/// next run completes the work. If a suspension is requested, the run throws `suspended` before its
/// next long step, and the next run completes the work.
struct MaintenanceRun {
  let files: StoreFiles
  let table: GenerationTable
  let queue: SyncQueue
  let writerLock: WriterLock
  /// A function that returns the ended lineages, to be recorded in the header slot and the map.
  ///
  /// The run calls the function under the maintenance lock, because the lineages may change while
  /// the run waits for the lock.
  let lineages: () -> [EndedLineage]
  let sealing: Sealing
  /// A Boolean value that indicates whether to write the header slot, with the durable watermark,
  /// even if no page is written.
  let writesWatermark: Bool
  /// The minimum number of new frames for which the run writes a new map of retained frames.
  ///
  /// Frames are counted from the end of the last map, or from the page file's state if that state
  /// is newer.
  let minReclaimFrameCount: UInt64

  /// A run's decision about what to checkpoint and what to retain.
  private struct Decision {
    /// The generation that the page file will advance to.
    let low: FrameNumber
    /// The newest durable state, which is called T in the steps of `Docs/Internals/Concurrency.md`.
    let newest: GenerationState
    /// The generations to retain, ending with the generation of `newest`.
    ///
    /// The array is empty if the run will not reclaim log space.
    var retainedGenerations: [FrameNumber] = []
  }

  /// Runs maintenance, after waiting for any run in progress.
  ///
  /// - Complexity: One write for each run of adjacent pages, two syncs of the page file, and one
  ///   sync each of the log and the directory. Log reclamation also writes and syncs the map, and
  ///   punches one hole for each run of dead frames.
  func run() throws(StorageError) -> CheckpointResult {
    try files.maintenance.withLock { () throws(StorageError) in
      try table.requireActive()
      try files.suspensions.requireNoRequest()
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
        // Sync the directory before freeing anything. Otherwise, a power cut could restore an older
        // `kept` file that still names a generation whose frames have been freed.
        try files.log.syncDirectory()
        files.activity.update { $0.directorySyncCount += 1 }
        try act(decision, map, &result)
        files.isRunIncomplete.store(false, ordering: .relaxed)
      } catch {
        if error.kind == .suspended { files.isRunIncomplete.store(true, ordering: .relaxed) }
        // A full disk does not disable writing, because no data that is still needed has been
        // freed. An I/O error disables writing, because the system may regard pages as written
        // although they are not on disk. A failed sync is an I/O error even if the disk is full. If
        // writing stayed enabled after such an error, the next run could read a header slot that
        // exists only in the page cache, and delete segments that the slot on disk still needs.
        if error.kind == .io { files.counters.disableWriting(after: error) }
        throw error
      }
      files.closeDurableSegments()
      return result
    }
  }

  /// Decides which generations stay alive, and prevents new pins on dead ones (M1.3 to M1.11).
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
    var named: Set<FrameNumber> = []
    // Add this process's own pins, which `liveElsewhere` excludes. Read them only after raising
    // `floor`, so that a thread whose pin is missing from the list reads the new value and retries.
    found.formUnion(table.lockedGenerations)
    // Read the names after the locks. A process that names a generation writes the name before it
    // releases its pin, so this run finds the name, the lock or both.
    named.formUnion(try NamedGenerations.read(files.log).rows.values.map(\.generation))
    found.formUnion(named)
    let newest = try table.state(at: newestRetained)
    let present = counters.decision
    // Ignore locks on dead generations, because they belong to pins that are about to fail.
    // Counting such a lock would retain a generation that an earlier run has already released.
    var alive = found.filter { $0 < newestRetained && present.isAlive($0) }.sorted()
    // Named generations, and generations that an earlier run retained, are already known to be
    // commits. Check only the remaining generations.
    let commits = named.union(present.olderRetained)
    for generation in alive.filter({ !commits.contains($0) }) {
      try files.suspensions.requireNoRequest()
      if try !isCommit(generation) { alive.removeAll { $0 == generation } }
    }
    let low = alive.first ?? newestRetained
    guard low < newestRetained, isWorthReclaiming(map, alive, newestRetained) else {
      counters.publish(
        DecisionRecord(
          low: low, newestRetained: present.newestRetained, olderRetained: present.olderRetained))
      return Decision(low: low, newest: newest)
    }
    counters.publish(DecisionRecord(low: low, newestRetained: newestRetained, olderRetained: alive))
    // Use the published record. If the record cannot list all retained generations, it ends with an
    // older generation, and the reclamation must end there too.
    let published = counters.decision
    return Decision(
      low: low, newest: newest,
      retainedGenerations: published.olderRetained + [published.newestRetained])
  }

  /// Returns whether a commit created the given generation.
  ///
  /// A lock on the generation does not prove this, because a process that pins a generation locks
  /// it before searching for its commit.
  private func isCommit(_ generation: FrameNumber) throws(StorageError) -> Bool {
    if generation == files.counters.checkpointed { return true }
    do throws(StorageError) {
      _ = try table.located(at: generation)
      return true
    } catch {
      guard error.kind == .generationExpired else { throw error }
      return false
    }
  }

  /// Returns whether to write a new map of retained frames.
  ///
  /// A new map is worthwhile if enough frames have been written since the last map, or if the last
  /// map retains frames for generations that are no longer held. It is also worthwhile if the last
  /// run was interrupted, because unneeded frames may remain.
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
    return isOutdated || files.isRunIncomplete.load(ordering: .relaxed)
      || (newestRetained > map.end.frame && newestRetained - map.end.frame >= minReclaimFrameCount)
  }

  /// Carries out the decision by advancing the page file and reclaiming log space (M3 and M4).
  private func act(
    _ decision: Decision, _ map: RetainedFrameMap?, _ result: inout CheckpointResult
  ) throws(StorageError) {
    let old = files.counters.checkpointed
    let present = try announceCheckpointedState()
    var advanced = try checkpoint(decision, &result)
    let isIncomplete = files.isRunIncomplete.load(ordering: .relaxed)
    // An interrupted run may have advanced the page file without truncating it.
    if isIncomplete, advanced == nil { advanced = present }
    let checkpointed = files.counters.checkpointed
    result.checkpointedGeneration = Generation(frame: checkpointed)
    var gone = try deleteSegments(upTo: checkpointed)
    if !decision.retainedGenerations.isEmpty {
      try files.suspensions.requireNoRequest()
      let retainedGenerations = try decision.retainedGenerations.map {
        generation throws(StorageError) in
        try retainedGeneration(generation, decision)
      }
      let reclaimed = try LogReclamation(
        files: files, retainedGenerations: retainedGenerations, checkpointed: checkpointed,
        lineages: lineages(), previous: map
      ).run()
      gone.formUnion(reclaimed.deletedSegments)
      result.reclaimedByteCount = reclaimed.byteCount
    }
    result.segmentCount = gone.count
    if checkpointed > old || !gone.isEmpty || isIncomplete {
      try prune(checkpointed, gone, advanced)
    }
    if let durable = table.durable { sealing.seal(upTo: durable) }
  }

  /// Announces the page file's state if a process died after writing a header slot (M3.4 and M3.5).
  ///
  /// Readers still use the state in the other slot, which this run is about to overwrite. Without
  /// this step, readers could not locate any generation until the end of the run.
  ///
  /// - Returns: The commit whose state the page file contains.
  private func announceCheckpointedState() throws(StorageError) -> CommitPoint {
    let newest = try HeaderSlot.requireNewest(try HeaderSlot.readBoth(files.pageFile.file))
    guard newest.identity == files.identity else {
      throw StorageError(
        .foreignStore,
        "The page file now belongs to another store, because the files were overwritten while "
          + "this store was open. Close the store in all processes, then restore a "
          + "backup.", file: "pages")
    }
    guard newest.checkpointed.frame > files.counters.checkpointed else {
      return newest.checkpointed
    }
    try files.pageFile.sync()
    files.activity.update { $0.pageFileSyncCount += 1 }
    files.pageFile.adoptState(newest.checkpointed.frame, files.cache)
    files.counters.raise(CountersLayout.checkpointed, to: newest.checkpointed.frame)
    return newest.checkpointed
  }

  /// Advances the page file to the generation `decision.low` (step M3).
  ///
  /// - Returns: The commit whose state the page file now contains, or `nil` if that state has not
  ///   changed.
  private func checkpoint(
    _ decision: Decision, _ result: inout CheckpointResult
  ) throws(StorageError) -> CommitPoint? {
    if decision.low > files.counters.checkpointed {
      // If another process has run a checkpoint, discard all cached information about the page
      // file's earlier contents.
      files.pageFile.adoptState(files.counters.checkpointed, files.cache)
      let state = try state(decision)
      result.pageCount = try copyPages(of: state)
      try files.pageFile.sync()
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
      try files.pageFile.sync()
      try writeHeader(checkpointed: newest.checkpointed)
    }
    return nil
  }

  /// Prunes the newest states and truncates the page file, under the writer lock (step M3.6).
  ///
  /// The page file keeps the pages of every state that this process is using.
  private func prune(
    _ checkpointed: FrameNumber, _ gone: Set<UInt64>, _ advanced: CommitPoint?
  ) throws(StorageError) {
    try writerLock.acquire(timeout: nil)
    defer { writerLock.release() }
    _ = try table.catchUp()
    try table.prune(checkpointed: checkpointed, gone: gone)
    if let advanced { try files.pageFile.cut(max(advanced.pageCount, table.greatestPageCount)) }
  }

  /// Returns the state at `decision.low`, rebuilding it from the log if it is not in memory.
  private func state(_ decision: Decision) throws(StorageError) -> GenerationState {
    if decision.newest.generation == decision.low { return decision.newest }
    if let live = table.liveState(at: decision.low) { return live }
    return try files.state(at: decision.low)
  }

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

  /// Writes back the pages of `state` that are newer than the page file's state (step M3.1).
  ///
  /// The method verifies pages before it copies them. It writes up to 256 pages at a time, in page
  /// order, and returns the number of pages written.
  private func copyPages(of state: GenerationState) throws(StorageError) -> Int {
    let checkpointed = files.counters.checkpointed
    try allocateSpace(for: state.point)
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
      try files.suspensions.requireNoRequest()
      try copyRun(moving[start..<end], of: state)
      start = end
    }
    return moving.count
  }

  /// Allocates space in the page file for all pages at `point`, because a power cut may have undone
  /// an earlier allocation.
  ///
  /// The space includes free pages at the end of the file. These pages are not written, but readers
  /// may map them.
  private func allocateSpace(for point: CommitPoint) throws(StorageError) {
    let needed = files.geometry.offset(ofPage: point.pageCount)
    guard try files.pageFile.file.byteCount() < needed else { return }
    // Exclude writers. On some systems, allocating space sets the length of the file, which could
    // undo an allocation that a writer in another process makes at the same time.
    try writerLock.acquire(timeout: nil)
    defer { writerLock.release() }
    try files.pageFile.reserve(point.pageCount, mayHaveBeenCut: true)
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
        throw .corrupt(
          "The store is corrupt: a page was damaged after it had been verified. Restore a backup.",
          page: page)
      }
      files.pageFile.clearVerified(page)
      files.cache.forget(UInt64(page) << 1)
    }
    guard let first = pages.first else { return }
    try files.pageFile.file.write(references.map(\.bytes), at: files.geometry.offset(ofPage: first))
  }

  /// Overwrites the older header slot, and syncs the page file (steps M3.3 and M3.4).
  private func writeHeader(checkpointed: CommitPoint) throws(StorageError) {
    let slots = try HeaderSlot.readBoth(files.pageFile.file)
    let newest = try HeaderSlot.requireNewest(slots)
    let target = slots[0]?.sequence == newest.sequence ? 1 : 0
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    HeaderSlot(
      geometry: files.geometry, identity: files.identity, sequence: newest.sequence + 1,
      checkpointed: checkpointed, durableUpTo: files.counters.durable,
      lineages: lineages().filter { $0.end < checkpointed.frame }
    ).encode(to: block.bytes)
    try files.pageFile.file.write([block.bytes.bytes], at: HeaderSlotLayout.offsets[target])
    try files.pageFile.sync()
  }

  /// Deletes the segments that contain only checkpointed frames, and returns their numbers.
  ///
  /// The result includes segments that an earlier run did not delete because its process died.
  private func deleteSegments(upTo checkpointed: FrameNumber) throws(StorageError) -> Set<UInt64> {
    let covered = try files.log.existing().filter {
      files.geometry.lastSlot(of: $0) <= checkpointed
    }
    try files.deleteSegments(covered)
    return Set(covered)
  }
}
