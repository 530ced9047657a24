// How pages go to the log: before the commit, when there are too many in memory, and with it.
extension WorkingPages {
  /// One page in memory on its way to the log.
  private struct Departure {
    let image: LogWriter.Image
    /// The savepoint that has changed it, counted from 1; 0 for the transaction outside of all.
    let owner: Int
  }

  /// The safe point of a transaction: writes the pages in memory to the log if there are too many.
  ///
  /// To be called between changes, when nobody holds bytes of ``writable(_:)`` and every page is
  /// one that passes its structural check. What is written is no generation without a commit mark.
  ///
  /// - Throws: `full`, after which the transaction cannot be committed and the store goes on; any
  ///   other error closes writing.
  /// - Complexity: O(1) below the limit; else a write of each page in memory.
  package func makeRoom(above limit: Int = .max) throws(StorageError) {
    guard memoryPageCount > min(limit, memoryPageLimit) else { return }
    // Each savepoint's pages get groups of their own, the outermost first: the later image of a
    // page counts, unless the savepoint it belongs to becomes void.
    var parts: [[Departure]] = []
    for page in departures() {
      if parts.last?.first?.owner == page.owner {
        parts[parts.count - 1].append(page)
      } else {
        parts.append([page])
      }
    }
    let places = try log.spill(parts.map { $0.map(\.image) })
    for (part, place) in zip(parts, places) {
      for (page, frame) in zip(part, place.frames) { enter(frame, of: page) }
      if let owner = part.first?.owner, owner > 0 {
        savepoints[owner - 1].frames.append(place.range)
      }
    }
    dropBlocks()
    refreshSource(pageCount: pageCount)
  }

  /// Every page in memory, by owner and number.
  private func departures() -> [Departure] {
    var departures: [Departure] = []
    departures.reserveCapacity(memoryPageCount)
    let byteCount = files.geometry.pageByteCount
    for holder in 0...savepoints.count {
      let held = holder < savepoints.count ? savepoints[holder].replaced : table.pointee
      held.forEach { number, block in
        guard let block else { return }
        // What a savepoint has replaced belongs to one further out.
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

  /// Enters where a page went, for all that it is no void frame to.
  ///
  /// As who reads the log takes it, whether or not the page was freed or changed since: what was
  /// changed is entered later.
  private func enter(_ frame: FrameNumber, of page: Departure) {
    for position in page.owner..<savepoints.count {
      savepoints[position].index.set(page.image.page, to: frame)
    }
    index.set(page.image.page, to: frame)
  }

  /// W1.4 and W1.5: the pages in memory, the void ranges and the commit mark into the log.
  ///
  /// - Returns: the state of the new generation.
  /// - Throws: `full`, after which nothing has happened; any other error closes writing.
  package func commit() throws(StorageError) -> GenerationState {
    let images = departures().map(\.image)
    let (point, frames) = try log.commit(
      images, pageCount: pageCount, mayUseReserve: freeSpace.growth <= 0)
    for (image, frame) in zip(images, frames) { index.set(image.page, to: frame) }
    do throws(StorageError) {
      return try GenerationState(
        point: point, index: index, segments: log.segments, files: files,
        lowestFree: lowestFree)
    } catch {
      // The commit is whole on disk and will be found when the store is opened again, so nothing
      // may be written over it meanwhile.
      files.words.setFailed()
      throw error
    }
  }

  /// Ends a transaction that does not commit; its pages are not to be used any more.
  package func abandon() { log.abandon() }
}
