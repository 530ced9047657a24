/// The start of reading the log: the page file's state, or the end of the map of retained frames.
package struct LogStart {
  /// The state the page file holds.
  package let backfilled: CommitPoint
  /// The commit after which group headers are read.
  package let point: CommitPoint
  /// The location of the pages at `point` that are not in the page file.
  package let index: PageIndex
  /// The lineages that ended up to `point`.
  package let lineages: [EndedLineage]
  /// The map, if it extends beyond the page file.
  package let map: SurvivorMap?
  /// The number of the map in the file, whether or not it is used.
  package let serial: UInt64?

  /// Creates the start for reading up to `generation`; `nil` if that is no longer available,
  /// because it is within the map and is not one of its retained generations.
  package init?(
    header: HeaderSlot, log: LogFiles, upTo generation: FrameNumber = .max
  ) throws(StorageError) {
    backfilled = header.backfilled
    index = PageIndex()
    let map = try SurvivorMap.read(log)
    serial = map?.serial
    guard let map, map.end.frame > backfilled.frame, generation != backfilled.frame else {
      guard generation >= backfilled.frame else { return nil }
      point = backfilled
      lineages = header.lineages
      self.map = nil
      return
    }
    self.map = map
    lineages = map.lineages
    if generation >= map.end.frame {
      point = map.end
    } else if let boundary = map.boundaries.first(where: { $0.frame == generation }) {
      point = boundary
    } else {
      return nil
    }
    // Ascending by frame, so that the newest image of a page is set last.
    for survivor in map.survivors
    where survivor.frame > backfilled.frame && survivor.frame <= point.frame {
      index.set(survivor.page, to: survivor.frame)
    }
    // If it was made for a later state of the page file, it lacks the pages between the two.
    guard !isOutdated else { return }
    for bitmap in BitmapLayout.newBitmaps(
      from: backfilled.pageCount, to: point.pageCount,
      pageByteCount: header.geometry.pageByteCount)
    where index.frame(of: PageNumber(bitmap)) == 0 {
      throw SurvivorMap.file.damaged(
        "The map counts \(point.pageCount) pages, but bitmap page \(bitmap) is missing.")
    }
  }

  /// Whether the page file has advanced since its header was read: a map is written after the
  /// header of the state it starts at is durable.
  package var isOutdated: Bool { (map?.start ?? 0) > backfilled.frame }
}

/// The state that a walk over the log from its start has reached.
package struct LogWalk {
  package private(set) var point: CommitPoint
  package let index: PageIndex
  package private(set) var lineages: [EndedLineage]
  /// The number of commits after the start.
  package private(set) var commitCount = 0
  /// The number of segments whose footer was read for them.
  package private(set) var footerCount = 0

  package init(from start: LogStart) {
    point = start.point
    index = PageIndex(sharing: start.index)
    lineages = start.lineages
  }

  package mutating func apply(_ step: LogStep) {
    for image in step.images { index.set(image.page, to: image.frame) }
    point = step.point
    commitCount += step.commitCount
    if let ended = step.ended { lineages.append(ended) }
    if step.isFooter { footerCount += 1 }
  }
}
