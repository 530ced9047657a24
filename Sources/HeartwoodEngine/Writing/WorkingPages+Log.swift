// This extension writes pages to the log, either early because too many are in memory, or at the
// commit. Segments are allocated only when needed.
extension WorkingPages {
  /// A page in memory that is to be written to the log.
  private struct Departure {
    let image: LogWriter.Image
    /// The number of the savepoint in which the page was changed, counted from 1, or 0 if it was
    /// not changed in a savepoint.
    let owner: Int
  }

  /// Spills all pages in memory to the log if there are more than `limit`, or more than
  /// `memoryPageLimit`.
  ///
  /// Call this method between changes, when no caller holds bytes from ``writable(_:)`` and every
  /// page passes its structural check. The spilled frames are not part of any generation until the
  /// commit mark is written.
  ///
  /// - Throws: `diskFull`, or an error that changed nothing, such as `foreignStore` for replaced
  ///   files. After these errors, the transaction cannot be committed, but the store remains
  ///   writable. Any other error disables writing.
  /// - Complexity: O(1) below the limit; otherwise, one write of each page in memory.
  package func makeRoom(above limit: Int = .max) throws(StorageError) {
    guard memoryPageCount > min(limit, memoryPageLimit) else { return }
    // Write the pages of each savepoint in separate groups, so that a rollback of the savepoint can
    // void exactly these frames. Start with the outermost savepoint, because if the log contains
    // several images of a page, readers use the last one that is not void.
    var parts: [[Departure]] = []
    for page in departures() {
      if parts.last?.first?.owner == page.owner {
        parts[parts.count - 1].append(page)
      } else {
        parts.append([page])
      }
    }
    let locations = try write(imageCount: memoryPageCount) { writer throws(StorageError) in
      try writer.spill(parts.map { $0.map(\.image) })
    }
    for (part, location) in zip(parts, locations) {
      for (page, frame) in zip(part, location.frames) { enter(frame, of: page) }
      if let owner = part.first?.owner, owner > 0 {
        savepoints[owner - 1].frames.append(location.range)
      }
    }
    dropBlocks()
    refreshSource(pageCount: pageCount)
  }

  /// Returns every page in memory, ordered by owner and page number.
  private func departures() -> [Departure] {
    var departures: [Departure] = []
    departures.reserveCapacity(memoryPageCount)
    let byteCount = files.geometry.pageByteCount
    for holder in 0...savepoints.count {
      let held = holder < savepoints.count ? savepoints[holder].replaced : table.pointee
      held.forEach { number, block in
        guard let block else { return }
        // The bytes that a savepoint holds are older than its own changes, so they belong to the
        // innermost enclosing savepoint that changed the page. The table holds the newest bytes, so
        // they can belong to any savepoint.
        let owner = (0..<holder).last { savepoints[$0].replaced.contains(number) }
        departures.append(
          Departure(
            image: LogWriter.Image(page: number, bytes: MutableBytes(block, count: byteCount)),
            owner: owner.map { $0 + 1 } ?? 0))
      }
    }
    departures.sort { ($0.owner, $0.image.page) < ($1.owner, $1.image.page) }
    return departures
  }

  /// Records the frame of a written page in the transaction's index, and in the index of each
  /// savepoint that began after the page was changed.
  ///
  /// Like a reader of the log, this method records the frame even if the page was freed or changed
  /// again later. If the page was changed again, the frame of its later image replaces this one.
  private func enter(_ frame: FrameNumber, of page: Departure) {
    for position in page.owner..<savepoints.count {
      savepoints[position].index.set(page.image.page, to: frame)
    }
    index.set(page.image.page, to: frame)
  }

  /// W1.4 and W1.5: writes the pages in memory, the void ranges and the commit mark to the log.
  ///
  /// - Returns: The state of the new generation.
  /// - Throws: `diskFull` or another error that changed nothing; any other error disables writing.
  package func commit() throws(StorageError) -> GenerationState {
    let images = departures().map(\.image)
    let (point, frames) = try write(imageCount: images.count) { writer throws(StorageError) in
      // Allocate disk space for the committed pages now, so that a checkpoint cannot run out of
      // space. If the page count has not grown, no other process can have truncated this space,
      // because the file always keeps all pages of the newest commit.
      try files.pageFile.reserve(pageCount, mayHaveBeenCut: pageCount > state.point.pageCount)
      // Create the mappings for the new state before the commit is written, because a failure after
      // the commit would disable writing.
      _ = try files.pageFile.regions(covering: pageCount)
      // A transaction that needs no more pages than it frees may use the reserve.
      return try writer.commit(
        images, voids: voids, pageCount: pageCount, time: files.fileSystem.wallClockMilliseconds,
        mayUseReserve: freeSpace.growth <= 0)
    }
    for (image, frame) in zip(images, frames) { index.set(image.page, to: frame) }
    do throws(StorageError) {
      return try GenerationState(
        point: point, index: index, segments: segments, files: files,
        lowestFree: lowestFree)
    } catch {
      // The commit is complete on disk and will be found when the store is reopened, so nothing may
      // overwrite it until then.
      files.counters.setFailed()
      throw error
    }
  }

  private func write<R>(
    imageCount: Int, _ body: (inout LogWriter) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    // A sync by another thread or process may have failed while the transaction ran.
    guard !files.counters.hasFailed else { throw SyncQueue.writesDisabled }
    try requireOpened()
    var writer =
      self.writer
      ?? LogWriter(
        files: files.log, table: state.segments, after: state.point, lineage: state.point.lineage,
        base: base, durableUpTo: files.counters.durable, allocator: files.allocator)
    let frameCount = writer.frameCount
    let segmentCount = writer.table.segments.count
    defer { self.writer = writer }
    do throws(StorageError) {
      let result = try body(&writer)
      if writer.table.segments.count > segmentCount { files.closeDurableSegments() }
      let byteCount = (writer.frameCount - frameCount) * files.geometry.pageByteCount
      files.activity.update {
        $0.loggedPageCount += imageCount
        $0.loggedByteCount += byteCount
      }
      return result
    } catch {
      // An error that does not disable writing only rolls back the transaction: `appended` is
      // unchanged, so the next writer overwrites the frames that this transaction has written.
      files.counters.disableWriting(after: error)
      throw error
    }
  }

  /// Ends a transaction that does not commit.
  ///
  /// The transaction's pages must not be used any more. The next transaction writes other pages to
  /// the same frames, so everything that this process has cached from these frames is discarded. If
  /// writing is disabled, nothing is discarded: the frames remain unchanged until the store is
  /// reopened, because a commit that seems to have failed may be complete.
  package func abandon() {
    guard let writer, !files.counters.hasFailed else { return }
    let geometry = files.geometry
    files.cache.forgetFrames(from: base)
    let first = geometry.segment(of: base)
    for segment in state.segments.segments where segment.number >= first {
      guard let region = segment.region else { continue }
      let slot = segment.number == first ? geometry.slot(of: base) : 0
      for slot in slot..<geometry.framesPerSegment { region.clearVerified(slot) }
    }
    let allocated = writer.table.segments.dropFirst(state.segments.segments.count)
    // Do not truncate the segments if the store's files were replaced, because files with the same
    // names may now belong to another store.
    guard let next = allocated.first, (try? requireOpened()) != nil else { return }
    files.allocator.reclaim(after: next.number - 1, allocated: Array(allocated))
  }

  /// Checks that the files that are about to be written still belong to the store.
  ///
  /// The segment of the next frame is checked too. It contains frames that no checkpoint covers, so
  /// the store itself neither deletes nor replaces it.
  private func requireOpened() throws(StorageError) {
    let next = files.geometry.next(after: state.generation)
    try files.opened.require(state.segments[files.geometry.segment(of: next)])
  }
}
