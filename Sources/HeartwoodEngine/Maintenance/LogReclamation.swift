/// Log reclamation (step M4), which frees the frames that no retained generation can read.
///
/// Reclamation considers only frames after the checkpointed generation. For each page, a retained
/// generation needs only the newest frame at or before that generation. Frames at or before the
/// checkpointed generation are not punched out, even though their pages are in the page file,
/// because a reader may still hold a pointer into them. The map of retained frames is made durable
/// before a segment is deleted or the first hole is punched.
///
/// Segments without retained frames are deleted. In any other segment, holes are punched for the
/// first time when two conditions are met: the segment was already full at the previous
/// reclamation, and at most a quarter of its pages are retained. Holes are punched again when at
/// most a quarter of the pages retained the previous time are still retained. In a log of
/// small commits, headers and page images alternate, so punching holes sooner would take a system
/// call for almost every commit.
package struct LogReclamation {
  /// A retained generation, and the locations of its pages.
  package struct RetainedGeneration {
    package let point: CommitPoint
    package let index: PageIndex
  }

  /// The segments that a reclamation deleted, and the number of bytes that it freed.
  package struct Result {
    package var deletedSegments: Set<UInt64> = []
    package var byteCount = 0
  }

  private let files: StoreFiles
  private let checkpointed: FrameNumber
  /// The end of the previous map, or the checkpointed generation if that is newer.
  private let previousEnd: FrameNumber
  private let map: RetainedFrameMap
  private let distinctPageCount: Int

  /// Creates a reclamation, and computes the map of the frames to retain.
  ///
  /// - Parameters:
  ///   - retainedGenerations: The retained generations in ascending order, ending with the newest
  ///     durable state. There must be at least one.
  ///   - previous: The map of the previous reclamation, or `nil` if there is none.
  package init(
    files: StoreFiles, retainedGenerations: [RetainedGeneration], checkpointed: FrameNumber,
    lineages: [EndedLineage], previous: RetainedFrameMap?
  ) {
    self.files = files
    self.checkpointed = checkpointed
    previousEnd = max(previous?.end.frame ?? 0, checkpointed)
    var retainedFrames: [RetainedFrameMap.RetainedFrame] = []
    var before = checkpointed
    for retainedGeneration in retainedGenerations {
      // Add only frames newer than the previous retained generation. The older frames are already
      // in the list, because that generation needs them too.
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

  /// Writes the map, deletes segments without retained frames, and punches holes in sparse
  /// segments.
  ///
  /// - Throws: `suspended` if a suspension is requested, or any error from the files. The next
  ///   reclamation completes the work.
  package func run() throws(StorageError) -> Result {
    let block = map.encoded(for: files.identity)
    try RetainedFrameMap.file.replace(with: block, files.log)
    files.activity.update { $0.directorySyncCount += 1 }
    var result = Result()
    var retained = map.retainedFrames[...]
    var counts: [UInt64: Int] = [:]
    for segment in try files.log.existing() {
      let last = files.geometry.lastSlot(of: segment)
      // Skip the segment where the map ends, and all later ones, because they contain frames of
      // newer generations. Segments before the checkpointed generation have already been deleted.
      guard last <= map.end.frame else { continue }
      try files.suspensions.requireNoRequest()
      let here = Self.removeFrames(&retained, in: files.geometry.firstFrame(of: segment) - 1...last)
      if here.isEmpty {
        result.byteCount += try allocatedByteCount(segment)
        result.deletedSegments.insert(segment)
        continue
      }
      counts[segment] = files.reclaimed.retainedFrameCount(segment)
      let before = counts[segment] ?? files.geometry.framesPerSegment
      guard last <= previousEnd, here.count <= before / Self.sparseShare else { continue }
      result.byteCount += try clear(segment, keeping: here)
      counts[segment] = here.count
    }
    try files.deleteSegments(result.deletedSegments.sorted())
    files.reclaimed.record(
      LogReclamationRecord.Figures(
        end: map.end, newFrameCount: Int(map.end.frame - min(previousEnd, map.end.frame)),
        heldCount: map.retainedGenerations.count - 1, distinctPageCount: distinctPageCount,
        mapByteCount: block.bytes.count), counts)
    return result
  }

  /// The divisor that determines whether a segment is sparse.
  ///
  /// Holes are punched in a segment if at most 1/`sparseShare` of its pages are retained.
  package static let sparseShare = 4

  /// Removes the frames up to the end of `slots` from `retainedFrames`, and returns those within
  /// `slots`.
  ///
  /// Frames before `slots` are not returned, because their segments are missing.
  private static func removeFrames(
    _ retainedFrames: inout ArraySlice<RetainedFrameMap.RetainedFrame>,
    in slots: ClosedRange<FrameNumber>
  ) -> ArraySlice<RetainedFrameMap.RetainedFrame> {
    retainedFrames = retainedFrames.drop { $0.frame < slots.lowerBound }
    let here = retainedFrames.prefix { $0.frame <= slots.upperBound }
    retainedFrames = retainedFrames.dropFirst(here.count)
    return here
  }

  /// Punches a hole in a segment for every run of slots without retained frames.
  ///
  /// The holes include the segment's header and footer, because the map replaces them.
  private func clear(
    _ segment: UInt64, keeping retainedFrames: ArraySlice<RetainedFrameMap.RetainedFrame>
  ) throws(StorageError) -> Int {
    let geometry = files.geometry
    var dead: [Range<FrameNumber>] = []
    var first = max(geometry.firstFrame(of: segment) - 1, checkpointed + 1)
    for retained in retainedFrames.map(\.frame) + [geometry.lastSlot(of: segment) + 1] {
      if retained > first { dead.append(first..<retained) }
      first = retained + 1
    }
    return try punch(dead, in: segment)
  }

  private func allocatedByteCount(_ segment: UInt64) throws(StorageError) -> Int {
    let file = try files.fileSystem.open(files.log.path(segment), .read)
    return Int(clamping: try file?.allocatedByteCount() ?? 0)
  }

  /// Punches a hole for each run of slots in a segment, and returns the number of bytes freed.
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
