import Synchronization

/// Creates the log segments that a writer needs now, and a few segments ahead of the writer.
///
/// When a segment is created in advance, its bytes are written and its name is synced at that time,
/// so that the first commit in the segment need not wait for either. Segments are created under a
/// lock byte, so that no process creates a segment that another process is filling. A complete
/// segment is used as it is, no matter which process created it. Thread-safe.
package final class SegmentAllocator: @unchecked Sendable {
  // @unchecked because all properties except the atomic one are used only under `making`.
  private let files: LogFiles
  private let making: ExclusiveByte
  /// The counters shared by all processes, or `nil` while the store is being opened and no other
  /// process has it open.
  private let counters: SharedCounters?
  private let activity: ActivityCounters
  /// The number of segments to create in advance.
  ///
  /// It becomes two once a writer has needed a segment that was not ready.
  private var wanted = 1
  /// The last segment that was allocated to a writer.
  ///
  /// The writer may already be filling this segment, even if no state contains the segment yet.
  private var newestAllocated: UInt64?
  /// Whether a writer has used the reserve, and the reserve has not been allocated again since.
  private let hasUsedReserve = Atomic<Bool>(false)

  package init(
    files: LogFiles, making: ExclusiveByte, counters: SharedCounters?, activity: ActivityCounters
  ) {
    self.files = files
    self.making = making
    self.counters = counters
    self.activity = activity
  }

  /// Returns the segments from `first` to `last`, after creating those that are missing and making
  /// all their names durable.
  ///
  /// The caller must hold the writer lock.
  ///
  /// - Parameter mayUseReserve: Whether the last segment may be made from the reserve if the disk
  ///   is full.
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
        // The segments can be truncated, because they contain no frames: the writer has not
        // received any of them.
        try? files.emptySegments(from: first, knowing: segments)
        throw error
      }
      newestAllocated = last
      return segments
    }
  }

  /// Makes a segment's name durable before a frame is written to it.
  ///
  /// The shared counter `named` shows whether a sync is needed. A segment that another process
  /// created may need a sync too, because that process may have died before it synced the
  /// directory. The counter contains the segment number + 1, so that 0 means that no name is
  /// durable.
  private func makeNameDurable(_ segment: UInt64) throws(StorageError) {
    // Do not rely on the counter if the reserve is missing: the reserve may have been renamed to
    // this segment, and the counter may refer to an earlier file with the same name.
    let isNamed = counters.map { $0.load(CountersLayout.named) >= segment + 1 } ?? false
    if isNamed, try files.hasReserve() { return }
    do throws(StorageError) {
      try files.syncDirectory()
    } catch {
      // Disable writing, because even a later successful sync would not prove that the names
      // covered by this failed sync are durable.
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

  /// Whether the reserve was used and must be allocated again once a maintenance run has freed
  /// space.
  package var needsRoom: Bool { hasUsedReserve.load(ordering: .relaxed) }

  /// Allocates the reserve again, if there is space.
  package func fillReserve() throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      hasUsedReserve.store(try !files.fillReserve(), ordering: .relaxed)
    }
  }

  /// Truncates all segments after `last` to zero bytes.
  ///
  /// These segments were either allocated to a writer that then abandoned them, or created ahead of
  /// the writer. The files keep their durable names, but their disk space is freed, which is needed
  /// after a transaction has filled the disk. The next process that needs such a segment creates it
  /// again. Errors are ignored, because the remaining bytes are never read. The caller must hold
  /// the writer lock.
  ///
  /// - Parameter allocated: The segments after `last` that this process has allocated.
  package func reclaim(after last: UInt64, allocated: [Segment] = []) {
    try? making.withLock { () throws(StorageError) in
      newestAllocated = last
      try files.emptySegments(from: last + 1, knowing: allocated)
    }
  }

  /// Creates segments in advance, after the last segment in use.
  ///
  /// The last segment in use is the one that contains the newest commit, or a later one that has
  /// already been allocated to a writer.
  ///
  /// An incomplete segment is created again only if no commit can have reached it. Otherwise,
  /// frames that are retained for a held generation could be lost, because a segment also looks
  /// incomplete once maintenance has punched out its header.
  ///
  /// - Parameter appended: A function that returns the newest commit that any process has appended.
  package func refill(lineage: UInt64, appended: () -> FrameNumber) throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      let newest = files.geometry.segment(of: appended())
      let last = max(newest, newestAllocated ?? newest)
      var hasMade = false
      for number in (last + 1)...(last + UInt64(wanted))
      where try !files.isComplete(number, lineage: lineage) {
        // Read the newest commit again: while the segment was being checked, other processes may
        // have appended commits to it, and maintenance may have punched holes in it. If the newest
        // commit is still in an earlier segment, neither has happened: maintenance changes nothing
        // after that commit, and no process can allocate a segment while `making` is locked.
        guard number > files.geometry.segment(of: appended()) else { continue }
        _ = try files.create(number, lineage: lineage, isAhead: true)
        hasMade = true
      }
      if hasMade { try makeNameDurable(last + UInt64(wanted)) }
    }
  }
}
