/// The start of reading the log: the page file's state, or the end of the map of retained frames.
package struct LogStart {
  /// The state the page file holds.
  package let checkpointed: CommitPoint
  /// The commit after which group headers are read.
  package let point: CommitPoint
  /// The location of the pages at `point` that are not in the page file.
  package let index: PageIndex
  /// The lineages that ended up to `point`.
  package let lineages: [EndedLineage]
  /// The map, if it extends beyond the page file.
  package let map: RetainedFrameMap?
  /// The number of the map in the file, whether or not it is used.
  package let serial: UInt64?

  /// Creates the start for reading up to `generation`; `nil` if that is no longer available,
  /// because it is within the map and is not one of its retained generations.
  package init?(
    header: HeaderSlot, log: LogFiles, upTo generation: FrameNumber = .max
  ) throws(StorageError) {
    checkpointed = header.checkpointed
    index = PageIndex()
    let map = try RetainedFrameMap.read(log)
    serial = map?.serial
    guard let map, map.end.frame > checkpointed.frame, generation != checkpointed.frame else {
      guard generation >= checkpointed.frame else { return nil }
      point = checkpointed
      lineages = header.lineages
      self.map = nil
      return
    }
    self.map = map
    lineages = map.lineages
    if generation >= map.end.frame {
      point = map.end
    } else if let retainedGeneration = map.retainedGenerations.first(where: {
      $0.frame == generation
    }) {
      point = retainedGeneration
    } else {
      return nil
    }
    // Ascending by frame, so that the newest image of a page is set last.
    for retained in map.retainedFrames
    where retained.frame > checkpointed.frame && retained.frame <= point.frame {
      index.set(retained.page, to: retained.frame)
    }
    // If it was made for a later state of the page file, it lacks the pages between the two.
    guard !isOutdated else { return }
    for bitmap in BitmapLayout.newBitmaps(
      from: checkpointed.pageCount, to: point.pageCount,
      pageByteCount: header.geometry.pageByteCount)
    where index.frame(of: PageNumber(bitmap)) == 0 {
      throw RetainedFrameMap.file.damaged(
        "The map counts \(point.pageCount) pages, but bitmap page \(bitmap) is missing.")
    }
  }

  /// Whether the page file has advanced since its header was read: a map is written after the
  /// header of the state it starts at is durable.
  package var isOutdated: Bool { (map?.start ?? 0) > checkpointed.frame }
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
