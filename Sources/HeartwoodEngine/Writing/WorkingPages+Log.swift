extension WorkingPages {
  private struct Departure {
    let image: LogWriter.Image
    /// The number of the savepoint in which the page was changed, counted from 1.
    ///
    /// The number is 0 if the page was changed outside of savepoints.
    let owner: Int
  }

  /// Spills the pages to the log if more pages are in memory than `limit` or `memoryPageLimit`
  /// allows.
  ///
  /// Call this method between changes, when no caller holds bytes from ``writable(_:)`` and every
  /// page passes its structural check.
  ///
  /// - Throws: `diskFull`, or an error that left the store unchanged, such as `foreignStore` if
  ///   files were replaced. After these errors, the transaction cannot be committed, but the store
  ///   remains writable. Any other error disables writing.
  /// - Complexity: O(1) below the limit. Above the limit, writes each page in memory once.
  package func makeRoom(above limit: Int = .max) throws(StorageError) {
    guard memoryPageCount > min(limit, memoryPageLimit) else { return }
    // Write the pages of each savepoint in separate groups, so that a rollback can void these
    // groups. Start with the outermost savepoint, because readers use each page's last image that
    // has not been voided.
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

  private func departures() -> [Departure] {
    var departures: [Departure] = []
    departures.reserveCapacity(memoryPageCount)
    let byteCount = files.geometry.pageByteCount
    for holder in 0...savepoints.count {
      let held = holder < savepoints.count ? savepoints[holder].replaced : table.pointee
      held.forEach { number, block in
        guard let block else { return }
        // The bytes kept by a savepoint are older than its changes, so they were written in an
        // enclosing savepoint or outside of savepoints. The bytes in the table are the newest, so
        // they may have been written in any savepoint.
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

  /// Records the frame of a written page in the indexes that contain this version of the page.
  ///
  /// The affected indexes are those of the transaction and of the savepoints that began after the
  /// change. The frame is recorded even if the page was freed or changed again later.
  private func enter(_ frame: FrameNumber, of page: Departure) {
    for position in page.owner..<savepoints.count {
      savepoints[position].index.set(page.image.page, to: frame)
    }
    index.set(page.image.page, to: frame)
  }

  /// Commits the transaction by writing the pages in memory, the void ranges and the commit mark to
  /// the log.
  ///
  /// These are steps W1.4 and W1.5 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Throws: `diskFull`, or another error that left the store unchanged. Any other error disables
  ///   writing.
  package func commit() throws(StorageError) -> GenerationState {
    let images = departures().map(\.image)
    let (point, frames) = try write(imageCount: images.count) { writer throws(StorageError) in
      // Allocate disk space now, so that a checkpoint cannot run out of space. If the page count
      // has not grown, the space already exists, because the file always keeps all pages of the
      // newest commit.
      try files.pageFile.reserve(pageCount, mayHaveBeenCut: pageCount > state.point.pageCount)
      // Create the mappings now, because a failure after the commit would disable writing.
      _ = try files.pageFile.regions(covering: pageCount)
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
      // Disable writing, because the commit is complete on disk, and nothing may overwrite it until
      // the store is reopened.
      files.counters.setFailed()
      throw error
    }
  }

  private func write<R>(
    imageCount: Int, _ body: (inout LogWriter) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    // Check for a failure again, because a sync by another thread or process may have failed while
    // the transaction ran.
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
      // If the error does not disable writing, the next writer overwrites the frames that this
      // transaction has written, because `appended` has not advanced.
      files.counters.disableWriting(after: error)
      throw error
    }
  }

  /// Ends a transaction that does not commit.
  ///
  /// The transaction's pages must not be used afterwards.
  ///
  /// The next transaction overwrites this transaction's frames, so the method discards all cached
  /// data from these frames. If writing is disabled, the method discards nothing: a commit that
  /// seems to have failed may be complete, so its frames remain unchanged until the store is
  /// reopened.
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
    // Truncate nothing if other files now have the same names, because those files may belong to
    // another store.
    guard let next = allocated.first, (try? requireOpened()) != nil else { return }
    files.allocator.reclaim(after: next.number - 1, allocated: Array(allocated))
  }

  /// Checks that the transaction is about to write to files that still belong to the store.
  ///
  /// The check includes the segment that contains the next frame. No checkpoint has reached the end
  /// of that segment, so the store itself cannot have deleted it.
  private func requireOpened() throws(StorageError) {
    let next = files.geometry.next(after: state.generation)
    try files.opened.require(state.segments[files.geometry.segment(of: next)])
  }
}
