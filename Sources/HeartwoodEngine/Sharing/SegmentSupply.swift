import Synchronization

/// Makes the log's segments: those a writer needs now, and a few ahead of him.
///
/// A segment made ahead has its bytes written and its name durable, so that the commit that enters
/// it waits for neither. Segments are made under a lock byte, so that no process makes one that
/// another is filling: a whole one is used as it is, whoever made it. Thread-safe.
package final class SegmentSupply: @unchecked Sendable {
  // @unchecked because the variables are used under `making` only, but for the atomic one.
  private let files: LogFiles
  private let making: ExclusiveByte
  /// Of all processes; `nil` while a store is opened, when no other process has it.
  private let words: SharedWords?
  private let counters: ActivityCounters
  /// How many are made ahead: two once a writer has come too early for one.
  private var wanted = 1
  /// The last segment a writer got; he may be filling it before any state shows it.
  private var newestTaken: UInt64?
  /// Whether a writer has used the reserve, and it was not filled again.
  private let hasUsedReserve = Atomic<Bool>(false)

  package init(
    files: LogFiles, making: ExclusiveByte, words: SharedWords?, counters: ActivityCounters
  ) {
    self.files = files
    self.making = making
    self.words = words
    self.counters = counters
  }

  /// The segments from `first` to `last`, with durable names, ready for frames.
  ///
  /// Under the writer lock.
  ///
  /// - Parameter mayUseReserve: Whether the last may be made of the reserve when the disk is full.
  /// - Complexity: One sync of the folder if any had to be made.
  package func take(
    _ first: UInt64, through last: UInt64, lineage: UInt64, mayUseReserve: Bool = false
  ) throws(StorageError) -> [Segment] {
    try making.withLock { () throws(StorageError) in
      var segments: [Segment] = []
      do throws(StorageError) {
        for number in first...last {
          if let segment = try files.whole(number, lineage: lineage) {
            segments.append(segment)
          } else {
            wanted = 2
            segments.append(
              try make(number, lineage, mayUseReserve: mayUseReserve && number == last))
          }
        }
        try makeNameDurable(last)
      } catch {
        // Nobody has frames there: the writer would have entered the first of them only now.
        try? files.emptySegments(from: first, knowing: segments)
        throw error
      }
      newestTaken = last
      return segments
    }
  }

  /// Makes a segment's name durable before a frame of it is written.
  ///
  /// Decided by comparing with the shared word, not by "I created it": the creator may have died
  /// between creating and syncing. The word holds segment + 1, so that 0 means none.
  private func makeNameDurable(_ segment: UInt64) throws(StorageError) {
    // Without a reserve, a segment may have been made of it, under a name that was durable for
    // another file.
    let isNamed = words.map { $0.load(CountersLayout.named) >= segment + 1 } ?? false
    if isNamed, try files.hasReserve() { return }
    do throws(StorageError) {
      try files.syncDirectory()
    } catch {
      // A later sync that succeeds proves nothing about the names this one was for.
      if !error.changedNothing { words?.setFailed() }
      throw error
    }
    counters.update { $0.directorySyncs += 1 }
    words?.raise(CountersLayout.named, to: segment + 1)
  }

  private func make(
    _ number: UInt64, _ lineage: UInt64, mayUseReserve: Bool
  ) throws(StorageError) -> Segment {
    do throws(StorageError) {
      return try files.create(number, lineage: lineage, isAhead: false)
    } catch {
      guard error.kind == .full, mayUseReserve,
        let segment = try files.createFromReserve(number, lineage: lineage)
      else { throw error }
      hasUsedReserve.store(true, ordering: .relaxed)
      return segment
    }
  }

  /// Whether the reserve was used and is to be filled again, after a pass that makes room.
  package var needsRoom: Bool { hasUsedReserve.load(ordering: .relaxed) }

  /// Takes the space of the reserve again, if there is room.
  package func fillReserve() throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      hasUsedReserve.store(try !files.fillReserve(), ordering: .relaxed)
    }
  }

  /// Takes back the segments behind `last`, which a writer has taken and given up, and those made
  /// ahead of him.
  ///
  /// They keep their durable names and lose their bytes, so that a transaction for which the disk
  /// was too small leaves room again; whoever needs one next makes it anew. Losing them is no
  /// promise: an error leaves bytes that nobody will look at. Under the writer lock.
  ///
  /// - Parameter taken: Those of them that this process has taken.
  package func giveBack(after last: UInt64, taken: [Segment] = []) {
    try? making.withLock { () throws(StorageError) in
      newestTaken = last
      try files.emptySegments(from: last + 1, knowing: taken)
    }
  }

  /// Makes segments ahead, behind the last one in use: that of `appended`, or one taken since.
  ///
  /// A segment that is not whole is made anew only if no commit can have reached it. One that holds
  /// what is left for a held generation is not whole either: a pass gives its header back.
  ///
  /// - Parameter appended: Asks for the newest appended commit, by whomever.
  package func refill(
    lineage: UInt64, appended: () -> FrameNumber
  ) throws(StorageError) {
    try making.withLock { () throws(StorageError) in
      let newest = files.geometry.segment(of: appended())
      let last = max(newest, newestTaken ?? newest)
      var hasMade = false
      for number in (last + 1)...(last + UInt64(wanted))
      where try !files.isWhole(number, lineage: lineage) {
        // Others append, and passes make holes, while this one looks. Asked for again afterwards:
        // a pass changes nothing behind the newest commit, and nobody takes a segment meanwhile.
        guard number > files.geometry.segment(of: appended()) else { continue }
        _ = try files.create(number, lineage: lineage, isAhead: true)
        hasMade = true
      }
      if hasMade { try makeNameDurable(last + UInt64(wanted)) }
    }
  }
}
