import Synchronization

/// An allocator that creates log segments for a writer, some of them in advance.
///
/// When the allocator creates a segment in advance, it writes and syncs the segment's bytes and
/// name, so that the first commit in the segment need not wait. A lock byte ensures that no process
/// creates a segment that another process is filling. A complete segment is used as is, no matter
/// which process created it.
package final class SegmentAllocator: @unchecked Sendable {
  // `@unchecked` is safe because all properties except the atomic one are used only under `making`.
  private let files: LogFiles
  private let making: ExclusiveByte
  /// The shared counters.
  ///
  /// The value is `nil` while the store is being opened and no other process has the store open.
  private let counters: SharedCounters?
  private let activity: ActivityCounters
  /// The number of segments to create in advance of the writer.
  ///
  /// The number is 1 at first. It becomes 2 when a writer first has to wait for a segment.
  private var wanted = 1
  /// The last segment allocated to a writer.
  ///
  /// The writer may be filling this segment before any state contains it.
  private var newestAllocated: UInt64?
  /// A Boolean value that indicates whether a writer has used the reserve since the reserve was
  /// last allocated.
  private let hasUsedReserve = Atomic<Bool>(false)

  package init(
    files: LogFiles, making: ExclusiveByte, counters: SharedCounters?, activity: ActivityCounters
  ) {
    self.files = files
    self.making = making
    self.counters = counters
    self.activity = activity
  }

  /// Runs `body` while no other thread of this process creates or reclaims segments.
  ///
  /// - Throws: `busy` if the deadline passes before `body` runs, or any error that `body` throws.
  func excludingThreads(
    until deadline: UInt64, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    try making.excludingThreads(until: deadline, body)
  }

  /// Returns the segments from `first` to `last`, after creating those that are missing.
  ///
  /// On return, the names of these segments are durable. The caller must hold the writer lock.
  ///
  /// - Parameter mayUseReserve: Whether the reserve may become the last segment if the disk is
  ///   full.
  /// - Complexity: One sync of the directory if a segment had to be created.
  package func allocate(
    _ first: UInt64, through last: UInt64, lineage: UInt64, mayUseReserve: Bool = false
  ) throws(StorageError) -> [Segment] {
    try making.withLock { () throws(StorageError) in
      var segments: [Segment] = []
      do throws(StorageError) {
        for number in first...last {
          if let segment = try files.completeSegment(number, lineage: lineage) {
            segments.append(segment)
          } else {
            wanted = 2
            segments.append(
              try make(number, lineage, mayUseReserve: mayUseReserve && number == last))
          }
        }
        try makeNameDurable(last)
      } catch {
        // Truncate the new segments, which contain no frames because the writer has not received
        // them.
        try? files.emptySegments(from: first, knowing: segments)
        throw error
      }
      newestAllocated = last
      return segments
    }
  }

  /// Makes a segment's name durable before a frame is written to the segment.
  ///
  /// A segment that another process created may also need this step, because that process may have
  /// died before it synced the directory. The shared counter `named` is 1 plus the number of the
  /// last segment with a durable name, or 0 if no name is durable.
  private func makeNameDurable(_ segment: UInt64) throws(StorageError) {
    // Rely on the counter only while there is a reserve. Otherwise, the reserve may have become
    // this segment, and the counter may refer to an earlier file with the same name.
    let isNamed = counters.map { $0.load(CountersLayout.named) >= segment + 1 } ?? false
    if isNamed, try files.hasReserve() { return }
    do throws(StorageError) {
      try files.syncDirectory()
    } catch {
      // Disable writing, because even a later successful sync would not prove that the segment
      // names are durable.
      if !error.changedNothing { counters?.setFailed() }
      throw error
    }
    activity.update { $0.directorySyncCount += 1 }
    counters?.raise(CountersLayout.named, to: segment + 1)
  }

  private func make(
    _ number: UInt64, _ lineage: UInt64, mayUseReserve: Bool
  ) throws(StorageError) -> Segment {
    do throws(StorageError) {
      return try files.create(number, lineage: lineage, isAhead: false)
    } catch {
      guard error.kind == .diskFull, mayUseReserve,
        let segment = try files.createFromReserve(number, lineage: lineage)
      else { throw error }
      hasUsedReserve.store(true, ordering: .relaxed)
      return segment
    }
  }

  /// A Boolean value that indicates whether the next maintenance run must allocate the reserve
  /// again because a writer has used it.
  package var needsRoom: Bool { hasUsedReserve.load(ordering: .relaxed) }

  package func fillReserve() throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      hasUsedReserve.store(try !files.fillReserve(), ordering: .relaxed)
    }
  }

  /// Truncates all segments after `last` to zero bytes to free space on a full disk.
  ///
  /// The files keep their durable names, and a process that later needs such a segment creates it
  /// again in the same file. Errors are ignored, because the remaining bytes are never read.
  ///
  /// The caller must hold the writer lock.
  ///
  /// - Parameter allocated: The segments after `last` that this process has allocated.
  package func reclaim(after last: UInt64, allocated: [Segment] = []) {
    try? making.withLock { () throws(StorageError) in
      newestAllocated = last
      try files.emptySegments(from: last + 1, knowing: allocated)
    }
  }

  /// Creates segments in advance.
  ///
  /// The new segments follow the segment of the newest commit or the last allocated segment,
  /// whichever is later.
  ///
  /// An incomplete segment is created again only if no commit can have reached it. A segment whose
  /// header was punched out by maintenance also looks incomplete, but it may contain frames that
  /// are retained for a held generation.
  ///
  /// - Parameter appended: A function that returns the newest commit that any process has appended.
  package func refill(lineage: UInt64, appended: () -> FrameNumber) throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      let newest = files.geometry.segment(of: appended())
      let last = max(newest, newestAllocated ?? newest)
      var hasMade = false
      for number in (last + 1)...(last + UInt64(wanted))
      where try !files.isComplete(number, lineage: lineage) {
        // Read the newest commit again, because other processes may have appended commits to the
        // segment during the check, and maintenance may have punched holes in it. If the newest
        // commit is still in an earlier segment, neither can have happened, because `making` is
        // locked.
        guard number > files.geometry.segment(of: appended()) else { continue }
        _ = try files.create(number, lineage: lineage, isAhead: true)
        hasMade = true
      }
      if hasMade { try makeNameDurable(last + UInt64(wanted)) }
    }
  }
}
