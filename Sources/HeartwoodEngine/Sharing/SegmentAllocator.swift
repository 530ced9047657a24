import Synchronization

/// Creates the log's segments: those a writer needs now, and a few ahead of it.
///
/// A segment created ahead has its bytes written and its name durable, so that the commit that
/// enters it waits for neither. Segments are created under a lock byte, so that no process creates
/// one that another is filling: a complete one is used as it is, regardless of its creator.
/// Thread-safe.
package final class SegmentAllocator: @unchecked Sendable {
  // @unchecked because the variables are used under `making` only, except for the atomic one.
  private let files: LogFiles
  private let making: ExclusiveByte
  /// The counters shared by all processes; `nil` during opening, when no other process has the
  /// store.
  private let counters: SharedCounters?
  private let activity: ActivityCounters
  /// The number of segments to create ahead: two once a writer has arrived before its segment was
  /// ready.
  private var wanted = 1
  /// The last segment given to a writer, which may be filling it before any state contains it.
  private var newestAllocated: UInt64?
  /// Whether a writer has used the reserve, which has not been refilled since.
  private let hasUsedReserve = Atomic<Bool>(false)

  package init(
    files: LogFiles, making: ExclusiveByte, counters: SharedCounters?, activity: ActivityCounters
  ) {
    self.files = files
    self.making = making
    self.counters = counters
    self.activity = activity
  }

  /// Returns the segments from `first` to `last`, with durable names, ready for frames.
  ///
  /// Under the writer lock.
  ///
  /// - Parameter mayUseReserve: Whether the last may be made from the reserve if the disk is full.
  /// - Complexity: One sync of the directory if any had to be created.
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
        // They contain no frames: the writer would have entered the first of them only now.
        try? files.emptySegments(from: first, knowing: segments)
        throw error
      }
      newestAllocated = last
      return segments
    }
  }

  /// Makes a segment's name durable before a frame is written to it.
  ///
  /// It decides by comparison with the shared counter, not by having created the file: the creator
  /// may have died between creating and syncing. The counter holds segment + 1, so that 0 means
  /// none.
  private func makeNameDurable(_ segment: UInt64) throws(StorageError) {
    // If there is no reserve, it may have become a segment, whose name was durable for another
    // file.
    let isNamed = counters.map { $0.load(CountersLayout.named) >= segment + 1 } ?? false
    if isNamed, try files.hasReserve() { return }
    do throws(StorageError) {
      try files.syncDirectory()
    } catch {
      // A later successful sync proves nothing about the names that this one was for.
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

  /// Whether the reserve was used and must be refilled, after a maintenance run that frees space.
  package var needsRoom: Bool { hasUsedReserve.load(ordering: .relaxed) }

  /// Allocates the reserve again, if there is space.
  package func fillReserve() throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      hasUsedReserve.store(try !files.fillReserve(), ordering: .relaxed)
    }
  }

  /// Empties the segments after `last`: those that a writer has allocated and abandoned, and those
  /// created ahead of it.
  ///
  /// They keep their durable names and lose their bytes, so that a transaction that filled the disk
  /// frees its space; the next process that needs one creates it again. Emptying is best effort:
  /// after an error, bytes remain that are never read. Under the writer lock.
  ///
  /// - Parameter allocated: Those of them that this process has allocated.
  package func reclaim(after last: UInt64, allocated: [Segment] = []) {
    try? making.withLock { () throws(StorageError) in
      newestAllocated = last
      try files.emptySegments(from: last + 1, knowing: allocated)
    }
  }

  /// Creates segments ahead, after the last one in use: that of `appended`, or one taken since.
  ///
  /// An incomplete segment is created again only if no commit can have reached it. A segment with
  /// retained frames of a held generation is incomplete too, because a maintenance run punches out
  /// its header.
  ///
  /// - Parameter appended: Returns the newest appended commit of any process.
  package func refill(lineage: UInt64, appended: () -> FrameNumber) throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      let newest = files.geometry.segment(of: appended())
      let last = max(newest, newestAllocated ?? newest)
      var hasMade = false
      for number in (last + 1)...(last + UInt64(wanted))
      where try !files.isComplete(number, lineage: lineage) {
        // Other processes append, and maintenance runs punch holes, during this check. Therefore
        // read it again: maintenance changes nothing after the newest commit, and no process can
        // take a segment meanwhile.
        guard number > files.geometry.segment(of: appended()) else { continue }
        _ = try files.create(number, lineage: lineage, isAhead: true)
        hasMade = true
      }
      if hasMade { try makeNameDurable(last + UInt64(wanted)) }
    }
  }
}
