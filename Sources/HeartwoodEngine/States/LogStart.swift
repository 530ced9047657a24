/// Where reading the log begins: at the page file's state, or at the end of the map of what is left
/// behind it.
package struct LogStart {
  /// The state the page file holds.
  package let backfilled: CommitPoint
  /// The commit from which on group headers are read.
  package let point: CommitPoint
  /// Where pages are at `point` that are not in the page file.
  package let index: PageIndex
  /// The lineages that ended up to `point`.
  package let lineages: [EndedLineage]
  /// The map, if it reaches further than the page file.
  package let map: SurvivorMap?
  /// Which map the file held, whether it says anything or not.
  package let serial: UInt64?

  /// The start for reading up to `generation`; `nil` if nothing is left of it, because it lies
  /// within the map and is none of its boundaries.
  package init?(
    header: HeaderSlot, log: LogFiles, upTo generation: FrameNumber = .max
  ) throws(StorageError) {
    backfilled = header.backfilled
    index = PageIndex()
    let map = try Self.map(log)
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
    // Ascending by frame, so that the newest image of a page comes last and stays.
    for survivor in map.survivors
    where survivor.frame > backfilled.frame && survivor.frame <= point.frame {
      index.set(survivor.page, to: survivor.frame)
    }
    // Made for a later state of the page file, it says nothing of pages between the two.
    guard !isOutdated else { return }
    for bitmap in BitmapLayout.newBitmaps(
      from: backfilled.pageCount, to: point.pageCount,
      pageByteCount: header.geometry.pageByteCount)
    where index.frame(of: PageNumber(bitmap)) == 0 {
      throw SurvivorMap.file.damaged(
        "The map counts \(point.pageCount) pages, but nothing tells of page \(bitmap).")
    }
  }

  /// Whether the page file has moved on since its header was read: a map is made after the header
  /// of the state it starts at is durable.
  package var isOutdated: Bool { (map?.start ?? 0) > backfilled.frame }

  /// The map as the file has it, or `nil` if there is none.
  package static func map(_ log: LogFiles) throws(StorageError) -> SurvivorMap? {
    guard let block = try SurvivorMap.read(log) else { return nil }
    defer { block.keep() }
    return try SurvivorMap.decode(block.bytes.bytes, of: log.identity)
  }
}
