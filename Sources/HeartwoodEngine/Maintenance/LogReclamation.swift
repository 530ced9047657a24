/// M4: log reclamation, which frees every frame that no retained generation can reach.
///
/// For each page and each retained generation, only the newest frame up to that generation can be
/// read. A frame is not freed merely because its page is in the page file: a reader may hold a
/// pointer to the frame. The map of retained frames is durable before the first hole is punched. A
/// run punches all holes again unless this process completed the previous run, which may have died
/// half way.
package struct LogReclamation {
  /// A retained generation, and the locations of its pages.
  package struct RetainedGeneration {
    package let point: CommitPoint
    package let index: PageIndex
  }

  /// The deleted segments and the number of reclaimed bytes.
  package struct Result {
    package var deletedSegments: Set<UInt64> = []
    package var byteCount = 0
  }

  private let files: StoreFiles
  private let checkpointed: FrameNumber
  private let previous: RetainedFrameMap?
  private let map: RetainedFrameMap
  private let distinctPageCount: Int

  /// Computes the map of the frames to retain.
  ///
  /// - Parameters:
  ///   - retainedGenerations: The retained generations in ascending order, ending with the newest
  ///     durable state; never empty.
  ///   - previous: The map of the previous reclamation; `nil` if there is none.
  package init(
    files: StoreFiles, retainedGenerations: [RetainedGeneration], checkpointed: FrameNumber,
    lineages: [EndedLineage], previous: RetainedFrameMap?
  ) {
    self.files = files
    self.checkpointed = checkpointed
    self.previous = previous
    var retainedFrames: [RetainedFrameMap.RetainedFrame] = []
    var before = checkpointed
    for retainedGeneration in retainedGenerations {
      // The previous retained generation already retains every frame that is not newer than it.
      retainedGeneration.index.forEach(newerThan: before) { page, frame in
        retainedFrames.append(RetainedFrameMap.RetainedFrame(frame: frame, page: page))
      }
      before = max(before, retainedGeneration.point.frame)
    }
    retainedFrames.sort { $0.frame < $1.frame }
    let end = retainedGenerations.last?.point.frame ?? 0
    map = RetainedFrameMap(
      serial: files.fileSystem.random(), start: checkpointed,
      retainedGenerations: retainedGenerations.map(\.point),
      lineages: lineages.filter { $0.end < end }, retainedFrames: retainedFrames)
    distinctPageCount = Set(retainedFrames.map(\.page)).count
  }

  /// Writes the map, punches the holes and deletes the segments without retained frames.
  package func run() throws(StorageError) -> Result {
    let block = map.encoded(for: files.identity)
    try RetainedFrameMap.file.replace(with: block, files.log)
    files.activity.update { $0.directorySyncCount += 1 }
    var result = Result()
    let wasComplete = previous.map { files.reclaimed.isComplete($0.serial) } ?? false
    var kept = map.retainedFrames[...]
    var keptBefore = (previous?.retainedFrames ?? [])[...]
    for segment in try files.log.existing() {
      let last = files.geometry.lastSlot(of: segment)
      // Segments beyond the map are skipped; segments below the page file's state are deleted
      // already.
      guard files.geometry.firstFrame(of: segment) <= map.end.frame else { continue }
      let slots = files.geometry.firstFrame(of: segment) - 1...last
      let here = Self.removeFrames(&kept, in: slots)
      let hereBefore = Self.removeFrames(&keptBefore, in: slots)
      if !wasComplete || last > previous?.end.frame ?? 0 {
        result.byteCount += try clear(segment, keeping: here)
      } else if here.count != hereBefore.count {
        // The frames that the previous map does not list are holes already.
        let runs = lost(hereBefore, keeping: here)
        result.byteCount +=
          here.isEmpty
          ? try clear(segment, keeping: here) : try punch(runs, in: segment)
      }
      if here.isEmpty, last <= map.end.frame { result.deletedSegments.insert(segment) }
    }
    try files.deleteSegments(result.deletedSegments.sorted())
    files.reclaimed.record(
      LogReclamationRecord.Figures(
        serial: map.serial, end: map.end, heldCount: map.retainedGenerations.count - 1,
        distinctPageCount: distinctPageCount, mapByteCount: block.bytes.count))
    return result
  }

  /// Removes and returns the retained frames in a range of slots.
  ///
  /// Earlier frames, whose segment is missing, are removed too.
  private static func removeFrames(
    _ retainedFrames: inout ArraySlice<RetainedFrameMap.RetainedFrame>,
    in slots: ClosedRange<FrameNumber>
  ) -> ArraySlice<RetainedFrameMap.RetainedFrame> {
    retainedFrames = retainedFrames.drop { $0.frame < slots.lowerBound }
    let here = retainedFrames.prefix { $0.frame <= slots.upperBound }
    retainedFrames = retainedFrames.dropFirst(here.count)
    return here
  }

  /// Punches a hole for every run of slots without a retained frame.
  ///
  /// If the map covers the complete segment, the holes include the segment's header and footer,
  /// which the map replaces.
  private func clear(
    _ segment: UInt64, keeping retainedFrames: ArraySlice<RetainedFrameMap.RetainedFrame>
  ) throws(StorageError) -> Int {
    let geometry = files.geometry
    let zeroth = geometry.firstFrame(of: segment) - 1
    let isComplete = geometry.lastSlot(of: segment) <= map.end.frame
    let start = isComplete ? zeroth : zeroth + 1
    let end = isComplete ? geometry.lastSlot(of: segment) : map.end.frame
    var dead: [Range<FrameNumber>] = []
    var first = max(start, checkpointed + 1)
    for retained in retainedFrames.map(\.frame) + [end + 1] {
      if retained > first { dead.append(first..<retained) }
      first = retained + 1
    }
    return try punch(dead, in: segment)
  }

  /// Returns the runs of frames in a segment that the previous map lists and this one does not.
  ///
  /// Frames that have been checkpointed since are excluded: a reader may hold a pointer to one.
  private func lost(
    _ before: ArraySlice<RetainedFrameMap.RetainedFrame>,
    keeping now: ArraySlice<RetainedFrameMap.RetainedFrame>
  ) -> [Range<FrameNumber>] {
    var kept = now
    var runs: [Range<FrameNumber>] = []
    for frame in before.map(\.frame) where frame > checkpointed {
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

  /// Punches holes for runs of slots, and returns the number of bytes freed in the segment.
  private func punch(_ runs: [Range<FrameNumber>], in segment: UInt64) throws(StorageError) -> Int {
    let geometry = files.geometry
    guard let file = try files.fileSystem.open(files.log.path(segment), .write) else { return 0 }
    let zeroth = geometry.firstFrame(of: segment) - 1
    let shift = UInt64(geometry.pageShift)
    let before = try file.allocatedByteCount()
    for run in runs {
      let bytes = (run.lowerBound - zeroth) << shift..<(run.upperBound - zeroth) << shift
      guard try file.punch(bytes) else {
        files.reclaimed.recordMissingHoleSupport()
        return 0
      }
    }
    let after = try file.allocatedByteCount()
    return Int(before > after ? before - after : 0)
  }
}
