extension StoreFiles {
  /// A generation as the files have it.
  package struct Located {
    package let point: CommitPoint
    package let index: PageIndex
    package let segments: SegmentTable
    package let lineages: [EndedLineage]
    /// Commits behind the page file's state or the map.
    package let commitCount: Int
    /// Segments whose footer was read for them.
    package let footerCount: Int
  }

  /// X1: a generation, found by the page file's header, the map, and the footers and group headers
  /// of the log behind them.
  ///
  /// Needs a verified pin of the generation or the maintenance lock, so that no pass gives it up
  /// meanwhile; one may still move the page file up to it, delete segments and make holes on the
  /// way, and then the search starts anew, with an empty index.
  ///
  /// - Throws: `generationExpired` if no commit ends at `generation`.
  /// - Complexity: Reads the map, the footers of the log behind it up to the generation, and one
  ///   page for each group where there are none.
  package func located(
    at generation: FrameNumber, isMapped: Bool
  ) throws(StorageError) -> Located {
    var last: UInt64?
    var attempts = Attempts()
    while true {
      let header = try announcedHeader()
      guard header.sequence != last else {
        throw .corrupt(
          "The newest header slot of the page file has become unreadable.", file: "pages")
      }
      let start = try LogStart(header: header, log: log, upTo: generation)
      if let start, !start.isOutdated, let found = try follow(start, to: generation, isMapped),
        // A pass may have moved the page file on and deleted segments the index leads to.
        words.backfilled == header.backfilled.frame
      {
        pageFile.noteState(header.backfilled.frame, cache)
        return found
      }
      try attempts.next("read the log", directory)
      let mapNow = try LogStart.map(log)?.serial
      if words.backfilled > header.backfilled.frame {
        last = header.sequence
        continue
      }
      if let start, start.serial != mapNow { continue }
      throw StorageError(
        .generationExpired, "Generation \(generation) never was a commit of this store.")
    }
  }

  /// The newest header slot whose state the words know to be in the page file.
  ///
  /// A pass announces a state only when its slot is synced. Until then the slot can be read, but
  /// pages of that state are not accepted from the page file, and if the sync fails they never are.
  /// The slot before it is as good: the log still holds what lies between the two.
  private func announcedHeader() throws(StorageError) -> HeaderSlot {
    let slots = try HeaderSlot.readBoth(pageFile.file)
    let backfilled = words.backfilled
    let announced = slots.filter { ($0?.backfilled.frame ?? .max) <= backfilled }
    guard let header = HeaderSlot.newest(announced) else {
      throw .corrupt("No header slot of the page file tells where the log begins.", file: "pages")
    }
    return header
  }

  /// Reads the log from `start` on; `nil` if no commit ends at `generation`.
  private func follow(
    _ start: LogStart, to generation: FrameNumber, _ isMapped: Bool
  ) throws(StorageError) -> Located? {
    let first = geometry.segment(of: geometry.next(after: start.backfilled.frame))
    let table = try log.openAll(
      from: first, through: geometry.segment(of: generation), isMapped: isMapped)
    var scanner = try LogScanner(
      table: table, geometry: geometry, seed: identity.seed, from: start.point)
    let index = start.index
    var lineages = start.lineages
    var commitCount = 0
    var footerCount = 0
    while scanner.point.frame < generation, let step = try scanner.step(upTo: generation) {
      guard step.point.frame <= generation else { break }
      for image in step.images { index.set(image.page, to: image.frame) }
      switch step {
      case .commit(let commit):
        if let ended = commit.ended { lineages.append(ended) }
        commitCount += 1
      case .segment(let segment):
        commitCount += segment.commitCount
        footerCount += 1
      }
    }
    guard scanner.point.frame == generation else { return nil }
    return Located(
      point: scanner.point, index: index, segments: table, lineages: lineages,
      commitCount: commitCount, footerCount: footerCount)
  }

  /// The state of a generation, as ``located(at:isMapped:)`` finds it.
  package func state(at generation: FrameNumber) throws(StorageError) -> GenerationState {
    let found = try located(at: generation, isMapped: log.isMapped)
    closeDurableSegments()
    return try GenerationState(
      point: found.point, index: found.index, segments: found.segments, files: self)
  }

  /// X2: a newer generation, found by reading on from one that is known; `nil` if the log does not
  /// lead there any more.
  ///
  /// Needs a verified pin of the newer one or the writer lock. What the older one's index leads to
  /// and the newer one still shows is there, whatever passes have done meanwhile.
  ///
  /// - Complexity: Reads a page for each group in between, and one more for each segment.
  package func advanced(
    _ known: GenerationState, to generation: FrameNumber
  ) throws(StorageError) -> GenerationState? {
    let first = geometry.segment(of: geometry.next(after: known.generation))
    let end = geometry.segment(of: generation)
    let new = try segments(from: first, through: end, knowing: known.segments)
    var scanner = try LogScanner(
      table: new, geometry: geometry, seed: identity.seed, from: known.point)
    let index = PageIndex(sharing: known.index)
    var lowestFree = known.lowestFree
    let perBitmap = PageNumber(
      BitmapLayout.pagesPerBitmap(pageByteCount: geometry.pageByteCount))
    while scanner.point.frame < generation, let step = try scanner.step(upTo: generation) {
      guard step.point.frame <= generation else { break }
      for image in step.images {
        index.set(image.page, to: image.frame)
        // A bitmap that changed may tell of free pages below.
        if image.page % perBitmap == 0 { lowestFree = min(lowestFree, image.page) }
      }
    }
    guard scanner.point.frame == generation else { return nil }
    if first < end { closeDurableSegments() }
    let old = known.segments.segments.filter { $0.number < first }
    let state = try GenerationState(
      point: scanner.point, index: index, segments: SegmentTable(old + new.segments), files: self,
      lowestFree: lowestFree)
    let backfilled = words.backfilled
    guard backfilled > pageFile.knownState else { return state }
    // Another process has moved the page file on: what it holds needs no index and no segments.
    pageFile.noteState(backfilled, cache)
    return try state.pruned(backfilled: backfilled, gone: [], files: self)
  }

  /// The segments from `first` to `last`; those of a commit that lies where the one before does are
  /// known, and nobody looks into the folder.
  private func segments(
    from first: UInt64, through last: UInt64, knowing known: SegmentTable
  ) throws(StorageError) -> SegmentTable {
    if first == last, let segment = known[first] { return SegmentTable([segment]) }
    return try log.openAll(
      from: first, through: last, knowing: known, isMapped: log.isMapped)
  }

  /// W2: the state after a complete commit that follows this one, whose writer died before he could
  /// say so; `nil` if there is none.
  ///
  /// Under the writer lock.
  ///
  /// - Complexity: A look at one page header, in mapped files without a system call.
  package func adoptable(after state: GenerationState) throws(StorageError) -> GenerationState? {
    let next = geometry.next(after: state.generation)
    let number = geometry.segment(of: next)
    let isNamed = words.load(CountersLayout.named) > number
    guard
      try state.segments[number].map({ segment throws(StorageError) in
        try segment.mayHoldHeader(geometry.slot(of: next), geometry)
      }) ?? isNamed
    else { return nil }
    let first = number
    let table = try log.openAll(from: first, knowing: state.segments, isMapped: false)
    var scanner = try LogScanner(
      table: table, geometry: geometry, seed: identity.seed, from: state.point)
    guard let commit = try scanner.next(), commit.ended == nil,
      try scanner.verifyImages(of: commit)
    else { return nil }
    return try advanced(state, to: commit.point.frame)
  }
}
