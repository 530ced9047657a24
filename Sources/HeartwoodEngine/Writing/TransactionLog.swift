/// The frames that one transaction has written to the log, and those of them that count.
///
/// It writes nothing, and takes no segment, before that is necessary. Used by the holder of the
/// writer lock only.
struct TransactionLog {
  private let files: StoreFiles
  private let state: GenerationState
  private let base: FrameNumber
  private var writer: LogWriter?
  /// The frames that rolled-back savepoints have spilled.
  private var voids: [VoidRange] = []

  init(files: StoreFiles, state: GenerationState, base: FrameNumber) {
    self.files = files
    self.state = state
    self.base = base
  }

  /// The segments of the state, and those written to since.
  var segments: SegmentTable { writer?.table ?? state.segments }

  /// Writes parts of a transaction that continues, all or none.
  ///
  /// - Throws: `full`, after which the store continues without the transaction, as after any error
  ///   that changed nothing, such as `foreignStore` for replaced files; any other error disables
  ///   writing.
  mutating func spill(
    _ parts: [[LogWriter.Image]]
  ) throws(StorageError) -> [LogWriter.Place] {
    let imageCount = parts.reduce(0) { $0 + $1.count }
    return try write(imageCount: imageCount) { writer throws(StorageError) in
      try writer.spill(parts)
    }
  }

  /// Removes frames from the transaction; the commit lists them as void.
  mutating func void(_ ranges: [VoidRange]) { voids += ranges }

  /// Writes the remaining images and the commit mark.
  ///
  /// - Parameter mayUseReserve: Whether the transaction may use the reserve if the disk is full,
  ///   because it needs no more pages than it frees.
  /// - Throws: As ``spill(_:)``.
  mutating func commit(
    _ images: [LogWriter.Image], pageCount: PageNumber, mayUseReserve: Bool
  ) throws(StorageError) -> (point: CommitPoint, frames: [FrameNumber]) {
    let voids = voids
    let time = files.fileSystem.wallClockMilliseconds
    let pageFile = files.pageFile
    // No process ever truncates pages of the newest commit.
    let mayHaveBeenCut = pageCount > state.point.pageCount
    return try write(imageCount: images.count) { writer throws(StorageError) in
      // A checkpoint must never lack the disk space for committed pages.
      try pageFile.reserve(pageCount, mayHaveBeenCut: mayHaveBeenCut)
      // Nor may its state lack the mappings through which it is read.
      _ = try pageFile.regions(covering: pageCount)
      return try writer.commit(
        images, voids: voids, pageCount: pageCount, time: time, mayUseReserve: mayUseReserve)
    }
  }

  private mutating func write<R>(
    imageCount: Int, _ body: (inout LogWriter) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    // The sync of another thread or process may have failed while the transaction ran.
    guard !files.words.hasFailed else { throw SyncQueue.closedForWriting }
    try files.requireOpened(behind: state)
    var writer =
      writer
      ?? LogWriter(
        files: files.log, table: state.segments, after: state.point, lineage: state.point.lineage,
        base: base, durableUpTo: files.words.durable, supply: files.supply)
    let frameCount = writer.frameCount
    let segmentCount = writer.table.segments.count
    defer { self.writer = writer }
    do throws(StorageError) {
      let result = try body(&writer)
      if writer.table.segments.count > segmentCount { files.closeDurableSegments() }
      let byteCount = (writer.frameCount - frameCount) * files.geometry.pageByteCount
      files.counters.update {
        $0.pagesLogged += imageCount
        $0.bytesLogged += byteCount
      }
      return result
    } catch {
      // Unless writing is disabled, this rolls back: `appended` has not moved, and the next writer
      // overwrites the frames after it.
      files.words.noteFailure(error)
      throw error
    }
  }

  /// Ends a transaction that does not commit: the next one writes other pages to the same frames,
  /// so everything this process has cached of them must be discarded.
  ///
  /// After a failure the frames stay unchanged until the store is reopened: a commit that seems
  /// lost may be complete.
  func abandon() {
    guard let writer, !files.words.hasFailed else { return }
    let geometry = files.geometry
    files.cache.forgetFrames(from: base)
    let first = geometry.segment(of: base)
    for segment in state.segments.segments where segment.number >= first {
      guard let region = segment.region else { continue }
      let slot = segment.number == first ? geometry.slot(of: base) : 0
      for slot in slot..<geometry.framesPerSegment { region.clearVerified(slot) }
    }
    let taken = writer.table.segments.dropFirst(state.segments.segments.count)
    // The files with these names may belong to another store by now.
    guard let next = taken.first, (try? files.requireOpened(behind: state)) != nil else { return }
    files.supply.giveBack(after: next.number - 1, taken: Array(taken))
  }
}

extension StoreFiles {
  /// Checks that the files that a commit after `newest` changes still belong to the store.
  ///
  /// Under the writer lock: the segment of the next frame contains frames that no checkpoint
  /// covers, so the store itself neither deletes nor replaces it.
  package func requireOpened(behind newest: GenerationState) throws(StorageError) {
    let next = geometry.next(after: newest.generation)
    try opened.require(newest.segments[geometry.segment(of: next)])
  }
}
