extension OpenSequence {
  /// Performs steps O1.2 to O1.4: prepares the counters, starts a lineage if needed, and builds the
  /// first state.
  func finish(
    _ header: HeaderSlot, _ recovery: Recovery, _ start: LogStart, _ named: NamedGenerations,
    _ table: SegmentTable, _ pages: any File, _ log: LogFiles, _ locks: StoreLocks,
    _ shared: FoundCounters
  ) throws(StorageError) -> Opened {
    let counters = shared.counters
    var point = recovery.point
    var table = table
    var lineages = recovery.lineages
    var report = recovery.report
    if shared.areUsable, !counters.hasFailed {
      try resume(counters, header, pages, point, table)
    } else {
      if shared.areUsable {
        guard try !locks.isLockedElsewhere(byte: LockByte.presenceReadOnly) else {
          throw StorageError(
            .busy,
            "An earlier write or sync of this store failed. Close the store in all processes that "
              + "have it open for reading, then reopen it for writing.", file: path)
        }
        counters.store(shared.unfinished, CountersLayout.ready)
      }
      if shared.syncMayHaveFailed {
        try rewriteHeader(pages)
        try rewrite(after: recovery.durableWatermark, to: point, table, header.geometry)
      }
      // Do not start a lineage in a replica. All generations of a replica are durable, so no token
      // can name a lost generation.
      if !options.isReadOnly, options.role != .follower {
        (point, table) = try Self.startLineage(after: point, table, log, locks)
        lineages.append(EndedLineage(lineage: recovery.point.lineage, end: recovery.point.frame))
        report.startedLineage = true
        report.generation = Generation(frame: point.frame)
      }
      initialise(counters, header, point, table)
      let alive = try alive(start, named, below: point.frame, locks)
      counters.publish(
        DecisionRecord(
          low: header.checkpointed.frame, newestRetained: point.frame, olderRetained: alive))
      counters.store(shared.identity, CountersLayout.ready)
    }
    let files = files(pages, log, counters, locks, start: start.point, shared.file)
    files.pageFile.setOwnState(header.checkpointed.frame)
    if !options.isReadOnly { try files.allocator.fillReserve() }
    files.closeDurableSegments()
    let state = try GenerationState(
      point: point, index: recovery.index, segments: table, files: files)
    return Opened(
      files: files, state: state, lineages: lineages, recovery: report,
      isPrivate: options.isReadOnly)
  }

  func files(
    _ pages: any File, _ log: LogFiles, _ counters: SharedCounters, _ locks: StoreLocks,
    start: CommitPoint, _ file: FileIdentity?
  ) -> StoreFiles {
    StoreFiles(
      pageFile: PageFile(file: pages, geometry: log.geometry, isMapped: log.isMapped), log: log,
      counters: counters, locks: locks, start: start, countersFile: file,
      cacheByteCount: options.cacheByteCount, busyMilliseconds: options.busyMilliseconds,
      structure: { NodeChecks.check($0) })
  }

  /// The state of the shared counters when the first process opens the store.
  struct FoundCounters {
    let counters: SharedCounters
    /// The value of `ready` that marks the counters as usable, or 0 if the system provides no boot
    /// identity.
    let identity: UInt64
    /// The identity of the `counters` file, or `nil` if the counters are private.
    let file: FileIdentity?
    /// A Boolean value that indicates whether the counters are undamaged and have been initialised
    /// since the machine booted.
    var areUsable = false
    /// A Boolean value that indicates whether a sync of the page file or the log may have failed
    /// since the machine booted.
    var syncMayHaveFailed = false

    /// The value that `ready` has until the process that is opening the store has finished its
    /// syncs.
    ///
    /// This value is even, whereas a value that marks counters as usable is odd. Other processes
    /// therefore do not use the counters.
    var unfinished: UInt64 { identity & ~1 }
  }

  /// Finds the shared counters, and checks whether they are usable.
  ///
  /// If the store is opened for reading only, the method returns private counters instead.
  func sharedCounters(
    _ pages: any File, _ named: NamedGenerations
  ) throws(StorageError) -> FoundCounters {
    guard !options.isReadOnly else {
      return FoundCounters(counters: SharedCounters.ofThisProcess(), identity: 0, file: nil)
    }
    guard let (counters, identity, file) = try countersFile(pages, .create) else {
      throw StorageError(
        .io, "The `counters` file disappeared while it was being created. Try again.", file: path)
    }
    var found = FoundCounters(counters: counters, identity: identity, file: file)
    let ready = counters.load(CountersLayout.ready)
    let isSameBoot = identity != 0 && ready == identity
    found.areUsable =
      isSameBoot && counters.areCredible(keeping: named.rows.values.map(\.generation))
    // A sync may have failed if `failed` is set or damaged, if other counters are damaged, or if a
    // process that opened the store did not finish its syncs.
    found.syncMayHaveFailed =
      isSameBoot ? counters.hasFailed || !found.areUsable : ready == found.unfinished
    return found
  }

  /// Reuses counters that a process has initialised since the machine booted.
  ///
  /// If a writer died after completing a commit but before publishing it, this method publishes the
  /// commit.
  private func resume(
    _ counters: SharedCounters, _ header: HeaderSlot, _ pages: any File, _ point: CommitPoint,
    _ table: SegmentTable
  ) throws(StorageError) {
    // Reject counters that are too high. Readers wait while the floor is above the newest commit,
    // so a floor that is too high would block readers forever.
    let newest = max(counters.appended, counters.committed, counters.durable, counters.floor)
    guard newest <= point.frame, counters.checkpointed <= header.checkpointed.frame else {
      throw .corrupt(
        "The store's files were replaced with older ones while no process had the store open. A "
          + "newer state of the store has been used since the machine started. Restore the newer "
          + "files.",
        file: path)
    }
    counters.store(point.frame, CountersLayout.appended)
    counters.raise(CountersLayout.committed, to: point.frame)
    counters.raise(CountersLayout.durable, to: point.frame)
    // A process may have died after it wrote the header slot but before it synced the page file.
    // Sync the file now, because maintenance deletes the log up to `checkpointed`.
    if header.checkpointed.frame > counters.checkpointed {
      do throws(StorageError) { try pages.sync() } catch {
        if !error.changedNothing { counters.setFailed() }
        throw error.endingSync
      }
      counters.raise(CountersLayout.checkpointed, to: header.checkpointed.frame)
    }
    // An odd epoch means that a process is deciding which generations stay live. If that process
    // died, the epoch is still odd, so make it even again.
    if counters.epoch % 2 == 1 { counters.store(counters.epoch &+ 1, CountersLayout.epoch) }
    // Mark the names of all segments as durable, because recovery has just synced the directory.
    counters.store(table.nextSegment, CountersLayout.named)
  }

  /// Returns the older generations that stay readable after a reboot.
  ///
  /// A generation stays readable if it has a name, or if a read-only process has locked it since
  /// the reboot. If the generation precedes the end of the map of retained frames, the map must
  /// also list the generation, because the frames of other generations may have been reclaimed.
  private func alive(
    _ start: LogStart, _ named: NamedGenerations, below newest: FrameNumber, _ locks: StoreLocks
  ) throws(StorageError) -> [FrameNumber] {
    let low = start.checkpointed.frame
    var found = Set(named.rows.values.map(\.generation))
    found.formUnion(try locks.liveElsewhere(in: low..<max(low, newest)))
    return found.filter { generation in
      generation >= low && generation < newest
        && start.map.map { map in
          generation >= map.end.frame || map.retainedGenerations.contains { $0.frame == generation }
        } ?? true
    }.sorted()
  }

  /// Initialises the counters after a reboot, except for the decision record.
  ///
  /// The floor is set to the newest commit, so that no token can make a released generation
  /// readable again.
  private func initialise(
    _ counters: SharedCounters, _ header: HeaderSlot, _ point: CommitPoint, _ table: SegmentTable
  ) {
    counters.store(0, CountersLayout.ready)
    counters.store(point.frame, CountersLayout.appended)
    counters.store(point.frame, CountersLayout.committed)
    counters.store(point.frame, CountersLayout.durable)
    counters.store(header.checkpointed.frame, CountersLayout.checkpointed)
    counters.store(point.frame, CountersLayout.floor)
    counters.store(0, CountersLayout.failed)
    counters.publishMaintenanceResult(nil)
    counters.store(0, CountersLayout.epoch)
    counters.store(table.nextSegment, CountersLayout.named)
    counters.fence()
  }

  /// Rewrites the newest header slot with the same bytes, and syncs the page file.
  ///
  /// The slot may exist only in the page cache, because the sync after writing it may have failed.
  /// The pages that the slot describes were synced before the slot was written.
  ///
  /// A power cut during this step is harmless. If the slot on disk already has these bytes, the
  /// slot does not change. Otherwise, a maintenance run was interrupted between steps M3.3 and
  /// M3.5. The other slot is then on disk, and the log still contains every commit after that
  /// slot's state, because a run deletes segments only after step M3.5.
  private func rewriteHeader(_ pages: any File) throws(StorageError) {
    let slots = try HeaderSlot.readBoth(pages)
    let newest = try HeaderSlot.requireNewest(slots)
    let offset = HeaderSlotLayout.offsets[slots[0]?.sequence == newest.sequence ? 0 : 1]
    let block = ByteBlock(count: HeaderSlotLayout.byteCount)
    defer { block.keep() }
    _ = try pages.read(into: block.bytes, at: offset)
    try pages.write([block.bytes.bytes], at: offset)
    try pages.sync()
  }

  /// Rewrites the frames after `watermark` with the same bytes, and syncs them.
  ///
  /// After a failed sync, the system may treat pages as written even though they are not on disk.
  /// The frames up to the durable watermark were synced before the watermark was written. No later
  /// frame has been reclaimed, so this step never fills a hole. The headers of the segments are
  /// also rewritten.
  private func rewrite(
    after watermark: FrameNumber, to point: CommitPoint, _ table: SegmentTable,
    _ geometry: Geometry
  ) throws(StorageError) {
    guard watermark < point.frame else { return }
    let block = ByteBlock(count: geometry.pageByteCount)
    defer { block.keep() }
    // In an empty store, the watermark is 0. Start at index 0 in that case, to include the header
    // of segment 0.
    for index in (watermark == 0 ? 0 : watermark + 1)...point.frame {
      guard let segment = table[geometry.segment(of: index)] else { continue }
      let count = try segment.file.read(into: block.bytes, at: geometry.offset(of: index))
      try segment.file.write([block.bytes.bytes.slice(0, count)], at: geometry.offset(of: index))
    }
    for segment in table.segments where geometry.lastFrame(of: segment.number) > watermark {
      try segment.file.sync()
    }
  }

  /// Performs steps R1.7 and R1.8: starts a lineage in a new segment, so that no frame number is
  /// ever reused.
  static func startLineage(
    after point: CommitPoint, _ table: SegmentTable, _ log: LogFiles, _ locks: StoreLocks
  ) throws(StorageError) -> (CommitPoint, SegmentTable) {
    let geometry = log.geometry
    // Check the distance, because the table of segments has an element for each number between the
    // first segment and the new one.
    if let first = table.segments.first?.number,
      geometry.segment(of: point.frame) > first + Limits.maxSegmentSpan
    {
      throw .corrupt(
        "The store is corrupt: the newest generation in its files is far after the first log "
          + "segment. Restore a backup.")
    }
    let last = try log.existing().last
    let number: UInt64
    if let last {
      number = max(last, geometry.segment(of: point.frame)) + 1
    } else {
      number = point.frame == 0 ? 0 : geometry.segment(of: point.frame) + 1
    }
    let lineage = log.fileSystem.random()
    let allocator = SegmentAllocator(
      files: log, making: ExclusiveByte(LockByte.allocator, of: locks.file), counters: nil,
      activity: ActivityCounters())
    let segments = try allocator.allocate(
      number, through: number, lineage: lineage, mayUseReserve: true)
    var writer = LogWriter(
      files: log, table: SegmentTable(table.segments + segments), after: point, lineage: lineage,
      base: geometry.firstFrame(of: number), durableUpTo: point.frame, allocator: allocator)
    let start = try writer.commit(
      [], pageCount: point.pageCount, time: log.fileSystem.wallClockMilliseconds)
    do throws(StorageError) {
      for segment in segments { try segment.file.sync() }
    } catch {
      throw error.endingSync
    }
    return (start.point, writer.table)
  }
}
