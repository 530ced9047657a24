/// The position at which to start reading the log.
package struct LogStart {
  package let checkpointed: CommitPoint
  /// The commit after which to start reading group headers.
  package let point: CommitPoint
  /// The locations of the pages that are not in the page file, as of `point`.
  package let index: PageIndex
  /// The lineages that ended at or before `point`.
  package let lineages: [EndedLineage]
  /// The map of retained frames, or `nil` if there is no map or none of its frames are needed to
  /// reach the requested generation.
  package let map: RetainedFrameMap?
  /// The serial number of the map on disk, even if that map is not used.
  package let serial: UInt64?

  /// Creates the position at which to start reading the log in order to reach `generation`.
  ///
  /// The initialiser returns `nil` if the generation is no longer available. In that case, either
  /// the generation is older than the page file's state, or the map covers the generation but does
  /// not list it.
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
    // Enter the frames in ascending order, so that the newest frame of each page replaces older
    // ones.
    for retained in map.retainedFrames
    where retained.frame > checkpointed.frame && retained.frame <= point.frame {
      index.set(retained.page, to: retained.frame)
    }
    // If the page file has advanced, the map starts at a later state and does not list pages that
    // were written back before that state. Skip the check below in that case, because even an
    // intact map would fail it.
    guard !isOutdated else { return }
    for bitmap in BitmapLayout.newBitmaps(
      from: checkpointed.pageCount, to: point.pageCount,
      pageByteCount: header.geometry.pageByteCount)
    where index.frame(of: PageNumber(bitmap)) == 0 {
      throw RetainedFrameMap.file.damaged(
        "it contains a page count of \(point.pageCount), but does not list bitmap page \(bitmap)")
    }
  }

  /// A Boolean value that indicates whether the map shows that the page file has advanced since the
  /// header was read.
  ///
  /// A map is written only after the page file's header for the map's starting state is durable.
  package var isOutdated: Bool { (map?.start ?? 0) > checkpointed.frame }
}

/// A walk through the log, and the state that the walk has reached.
package struct LogWalk {
  package private(set) var point: CommitPoint
  package let index: PageIndex
  package private(set) var lineages: [EndedLineage]
  package private(set) var commitCount = 0
  /// The number of segments whose footers were read instead of their group headers.
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
