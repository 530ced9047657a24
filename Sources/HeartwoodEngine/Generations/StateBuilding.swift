extension StoreFiles {
  /// A generation as the files have it: its commit, where its pages are, and the log's segments.
  package typealias Located = (point: CommitPoint, index: PageIndex, segments: SegmentTable)

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
        return found
      }
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
    let table = try log.openAll(from: first, isMapped: isMapped)
    var scanner = try LogScanner(
      table: table, geometry: geometry, seed: identity.seed, from: start.point)
    let index = start.index
    while scanner.point.frame < generation, let step = try scanner.step(upTo: generation) {
      guard step.point.frame <= generation else { break }
      for image in step.images { index.set(image.page, to: image.frame) }
    }
    return scanner.point.frame == generation ? (scanner.point, index, table) : nil
  }

  /// The state of a generation, as ``located(at:isMapped:)`` finds it.
  package func state(at generation: FrameNumber) throws(StorageError) -> GenerationState {
    let found = try located(at: generation, isMapped: log.isMapped)
    return try GenerationState(
      point: found.point, index: found.index, segments: found.segments, files: self)
  }
}
