extension StoreFiles {
  /// Locates the pages of a generation by reading the page file's header, the map of retained
  /// frames and the log.
  ///
  /// This is procedure X1 of `Docs/Internals/Concurrency.md`. The caller must hold the maintenance
  /// lock or a verified pin on the generation, so that no maintenance run releases the generation
  /// during the search. If a run advances the page file, deletes segments or punches holes during
  /// the search, the search starts again with an empty index.
  ///
  /// - Throws: `generationExpired` if no commit ends at `generation`.
  /// - Complexity: Reads the map, the footers between the map and the generation, and one page for
  ///   each group in segments without a footer.
  package func located(
    at generation: FrameNumber, isMapped: Bool
  ) throws(StorageError) -> (walk: LogWalk, segments: SegmentTable) {
    var last: UInt64?
    var attempts = Attempts()
    while true {
      let header = try announcedHeader()
      guard header.sequence != last else {
        throw .corrupt(
          "The page file is corrupt: its newest header slot has become unreadable. Restore a "
            + "backup.",
          file: "pages")
      }
      let start = try LogStart(header: header, log: log, upTo: generation)
      if let start, !start.isOutdated, let found = try follow(start, to: generation, isMapped),
        // If a checkpoint has advanced the page file since the header was read, start again. The
        // checkpoint may have deleted segments to which the index refers.
        counters.checkpointed == header.checkpointed.frame
      {
        pageFile.adoptState(header.checkpointed.frame, cache)
        return found
      }
      try attempts.next("read the log", directory)
      let mapNow = try RetainedFrameMap.read(log)?.serial
      if counters.checkpointed > header.checkpointed.frame {
        last = header.sequence
        continue
      }
      if let start, start.serial != mapNow { continue }
      throw StorageError(
        .generationExpired,
        "Generation \(generation) was never committed in this store. Use a generation returned by "
          + "a commit in this store.")
    }
  }

  /// Returns the newest header slot whose state has been announced in the shared counters.
  ///
  /// A checkpoint announces a state only after syncing its slot. A reader of an unannounced state
  /// would reject every page that the checkpoint wrote. Until the announcement, readers use the
  /// previous slot, because the log still contains all frames between the two states.
  private func announcedHeader() throws(StorageError) -> HeaderSlot {
    let slots = try HeaderSlot.readBoth(pageFile.file)
    let checkpointed = counters.checkpointed
    let announced = slots.filter { ($0?.checkpointed.frame ?? .max) <= checkpointed }
    guard let header = HeaderSlot.newest(announced) else {
      throw .corrupt(
        "The page file is corrupt: neither of its header slots contains a completed checkpoint. "
          + "Restore a backup.",
        file: "pages")
    }
    return header
  }

  /// Reads the log from `start` to `generation`.
  ///
  /// - Returns: `nil` if no commit ends at `generation`.
  private func follow(
    _ start: LogStart, to generation: FrameNumber, _ isMapped: Bool
  ) throws(StorageError) -> (walk: LogWalk, segments: SegmentTable)? {
    let first = geometry.segment(of: geometry.next(after: start.checkpointed.frame))
    let table = try log.openAll(
      from: first, through: geometry.segment(of: generation), isMapped: isMapped)
    var scanner = try log.scanner(of: table, from: start.point)
    var walk = LogWalk(from: start)
    while walk.point.frame < generation, let step = try scanner.step(upTo: generation) {
      guard step.point.frame <= generation else { break }
      walk.apply(step)
    }
    return walk.point.frame == generation ? (walk, table) : nil
  }

  package func state(at generation: FrameNumber) throws(StorageError) -> GenerationState {
    let found = try located(at: generation, isMapped: log.isMapped)
    closeDurableSegments()
    return try GenerationState(
      point: found.walk.point, index: found.walk.index, segments: found.segments, files: self)
  }

  /// Returns the state of a newer generation, built by reading the log after a known state.
  ///
  /// The method returns `nil` if the log no longer contains all commits between the two states. The
  /// caller must hold the writer lock or a verified pin on the newer generation, so that the frames
  /// of both states still exist. This is procedure X2 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Complexity: Reads one page for each group between the two states, and one more page for each
  ///   segment.
  package func advanced(
    _ known: GenerationState, to generation: FrameNumber
  ) throws(StorageError) -> GenerationState? {
    let first = geometry.segment(of: geometry.next(after: known.generation))
    let end = geometry.segment(of: generation)
    let new = try segments(from: first, through: end, knowing: known.segments)
    var scanner = try log.scanner(of: new, from: known.point)
    let index = PageIndex(sharing: known.index)
    var lowestFree = known.lowestFree
    let perBitmap = PageNumber(BitmapLayout.pagesPerBitmap(pageByteCount: geometry.pageByteCount))
    while scanner.point.frame < generation, let step = try scanner.step(upTo: generation) {
      guard step.point.frame <= generation else { break }
      for image in step.images {
        index.set(image.page, to: image.frame)
        // If a bitmap has changed, lower the bound: pages below the lowest known free page may now
        // be free.
        if image.page % perBitmap == 0 { lowestFree = min(lowestFree, image.page) }
      }
    }
    guard scanner.point.frame == generation else { return nil }
    if first < end { closeDurableSegments() }
    let old = known.segments.segments.filter { $0.number < first }
    let state = try GenerationState(
      point: scanner.point, index: index, segments: SegmentTable(old + new.segments), files: self,
      lowestFree: lowestFree)
    let checkpointed = counters.checkpointed
    guard checkpointed > pageFile.knownState else { return state }
    // Another process has written pages back. Drop the index entries and segments that are no
    // longer needed.
    pageFile.adoptState(checkpointed, cache)
    return try state.pruned(checkpointed: checkpointed, gone: [])
  }

  /// Returns the existing segments from `first` through `last`.
  ///
  /// The method does not list the directory if the range consists of a single segment that is in
  /// `known`.
  private func segments(
    from first: UInt64, through last: UInt64, knowing known: SegmentTable
  ) throws(StorageError) -> SegmentTable {
    if first == last, let segment = known[first] { return SegmentTable([segment]) }
    return try log.openAll(from: first, through: last, knowing: known, isMapped: log.isMapped)
  }

  /// Returns the state after a commit whose writer died before announcing it, or `nil` if there is
  /// no such commit.
  ///
  /// The commit is complete and directly follows `state`. The caller must hold the writer lock.
  /// This is procedure W2 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Complexity: If there is no such commit, the method checks only one page header, without a
  ///   system call if files are mapped.
  package func adoptable(after state: GenerationState) throws(StorageError) -> GenerationState? {
    let next = geometry.next(after: state.generation)
    let number = geometry.segment(of: next)
    let isNamed = counters.load(CountersLayout.named) > number
    guard
      try state.segments[number].map({ segment throws(StorageError) in
        try segment.mayHoldHeader(geometry.slot(of: next), geometry)
      }) ?? isNamed
    else { return nil }
    let table = try log.openAll(from: number, knowing: state.segments, isMapped: false)
    var scanner = try log.scanner(of: table, from: state.point)
    guard let commit = try scanner.next(), commit.ended == nil,
      try scanner.verifyImages(of: commit)
    else { return nil }
    return try advanced(state, to: commit.point.frame)
  }
}
