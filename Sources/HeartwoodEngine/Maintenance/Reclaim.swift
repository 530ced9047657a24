/// M4: gives back every frame of the log that no generation which must stay readable can reach.
///
/// Of each page only its newest frame up to each boundary can be read. A frame is never taken for
/// dead because it is in the page file: a reader may hold a pointer to it. The map that lists what
/// is left is durable before the first hole is made, and holes are made again by every pass that
/// does not know better, since the one before may have died half way.
package struct Reclaim {
  /// A generation that must stay readable, and where its pages are.
  package struct Boundary {
    package let point: CommitPoint
    package let index: PageIndex
  }

  /// What was given back.
  package struct Result {
    package var deletedSegments: Set<UInt64> = []
    package var byteCount = 0
  }

  private let files: StoreFiles
  private let backfilled: FrameNumber
  private let previous: SurvivorMap?
  private let map: SurvivorMap
  private let distinctPageCount: Int

  /// - Parameters:
  ///   - boundaries: Ascending, the newest durable state last; never empty.
  ///   - previous: The map until now.
  package init(
    files: StoreFiles, boundaries: [Boundary], backfilled: FrameNumber,
    lineages: [EndedLineage], previous: SurvivorMap?
  ) {
    self.files = files
    self.backfilled = backfilled
    self.previous = previous
    var survivors: [SurvivorMap.Survivor] = []
    var before = backfilled
    for boundary in boundaries {
      // What is not newer than the boundary before survives for that one already.
      boundary.index.forEach(newerThan: before) { page, frame in
        survivors.append(SurvivorMap.Survivor(frame: frame, page: page))
      }
      before = max(before, boundary.point.frame)
    }
    survivors.sort { $0.frame < $1.frame }
    let end = boundaries.last?.point.frame ?? 0
    map = SurvivorMap(
      serial: files.fileSystem.random(), start: backfilled, boundaries: boundaries.map(\.point),
      lineages: lineages.filter { $0.end < end }, survivors: survivors)
    distinctPageCount = Set(survivors.map(\.page)).count
  }

  /// Writes the map, makes the holes and deletes the segments that nothing is left of.
  package func run() throws(StorageError) -> Result {
    let block = map.encoded(for: files.identity)
    try SurvivorMap.file.replace(with: block, files.log)
    files.counters.update { $0.directorySyncs += 1 }
    var result = Result()
    let wasComplete = previous.map { files.reclaimed.isComplete($0.serial) } ?? false
    var kept = map.survivors[...]
    var keptBefore = (previous?.survivors ?? [])[...]
    for segment in try files.log.existing() {
      let last = files.geometry.lastSlot(of: segment)
      // What lies before the page file's state is deleted already.
      guard files.geometry.firstFrame(of: segment) <= map.end.frame else { continue }
      let slots = files.geometry.firstFrame(of: segment) - 1...last
      let here = Self.take(&kept, in: slots)
      let hereBefore = Self.take(&keptBefore, in: slots)
      if !wasComplete || last > previous?.end.frame ?? 0 {
        result.byteCount += try clear(segment, keeping: here)
      } else if here.count != hereBefore.count {
        // What the last map left out is a hole already.
        let runs = lost(hereBefore, keeping: here)
        result.byteCount +=
          here.isEmpty
          ? try clear(segment, keeping: here) : try punch(runs, in: segment)
      }
      if here.isEmpty, last <= map.end.frame { result.deletedSegments.insert(segment) }
    }
    try files.deleteSegments(result.deletedSegments.sorted())
    files.reclaimed.note(
      ReclaimRecord.Figures(
        serial: map.serial, end: map.end, heldCount: map.boundaries.count - 1,
        distinctPageCount: distinctPageCount, mapByteCount: block.bytes.count))
    return result
  }

  /// The survivors in some slots; those before, whose segment is missing, are passed over.
  private static func take(
    _ survivors: inout ArraySlice<SurvivorMap.Survivor>, in slots: ClosedRange<FrameNumber>
  ) -> ArraySlice<SurvivorMap.Survivor> {
    survivors = survivors.drop { $0.frame < slots.lowerBound }
    let here = survivors.prefix { $0.frame <= slots.upperBound }
    survivors = survivors.dropFirst(here.count)
    return here
  }

  /// Makes a hole of every run of slots that hold no survivor; the header and footer of a segment
  /// that takes no more frames go too, as the map says what they would.
  private func clear(
    _ segment: UInt64, keeping survivors: ArraySlice<SurvivorMap.Survivor>
  ) throws(StorageError) -> Int {
    let geometry = files.geometry
    let zeroth = geometry.firstFrame(of: segment) - 1
    let isWhole = geometry.lastSlot(of: segment) <= map.end.frame
    let start = isWhole ? zeroth : zeroth + 1
    let end = isWhole ? geometry.lastSlot(of: segment) : map.end.frame
    var dead: [Range<FrameNumber>] = []
    var first = max(start, backfilled + 1)
    for survivor in survivors.map(\.frame) + [end + 1] {
      if survivor > first { dead.append(first..<survivor) }
      first = survivor + 1
    }
    return try punch(dead, in: segment)
  }

  /// What survived the last map of a segment and does not survive this one, in runs.
  ///
  /// Not what has come into the page file since: a reader may hold a pointer to it.
  private func lost(
    _ before: ArraySlice<SurvivorMap.Survivor>, keeping now: ArraySlice<SurvivorMap.Survivor>
  ) -> [Range<FrameNumber>] {
    var kept = now
    var runs: [Range<FrameNumber>] = []
    for frame in before.map(\.frame) where frame > backfilled {
      while let first = kept.first, first.frame < frame { kept.removeFirst() }
      if kept.first?.frame == frame { continue }
      if let run = runs.last, run.upperBound == frame {
        runs[runs.count - 1] = run.lowerBound..<frame + 1
      } else {
        runs.append(frame..<frame + 1)
      }
    }
    return runs
  }

  /// Makes holes of runs of slots, and says how many bytes the segment takes less.
  private func punch(
    _ runs: [Range<FrameNumber>], in segment: UInt64
  ) throws(StorageError) -> Int {
    let geometry = files.geometry
    guard let file = try files.fileSystem.open(files.log.path(segment), .write) else { return 0 }
    let zeroth = geometry.firstFrame(of: segment) - 1
    let shift = UInt64(geometry.pageShift)
    let before = try file.allocatedByteCount()
    for run in runs {
      let bytes = (run.lowerBound - zeroth) << shift..<(run.upperBound - zeroth) << shift
      guard try file.punch(bytes) else {
        files.reclaimed.noteThatHolesAreImpossible()
        return 0
      }
    }
    let after = try file.allocatedByteCount()
    return Int(before > after ? before - after : 0)
  }
}
