/// Properties and methods that query the live generations.
///
/// Each of them holds the table's lock while it reads the table.
extension GenerationTable {
  package func liveState(at generation: FrameNumber) -> GenerationState? {
    lock.withLock { entries[generation]?.state }
  }

  /// Returns the commit and the page locations of a generation that is live in any process.
  package func located(
    at generation: FrameNumber
  ) throws(StorageError) -> (point: CommitPoint, index: PageIndex) {
    if let live = liveState(at: generation) { return (live.point, live.index) }
    let found = try files.located(at: generation, isMapped: false).walk
    return (found.point, found.index)
  }

  /// The largest page count among the states that this process reads or builds on.
  package var greatestPageCount: PageNumber {
    lock.withLock {
      entries.values.reduce(
        max(
          appendedState.point.pageCount, visibleState.point.pageCount,
          durableState.point.pageCount)
      ) { max($0, $1.state.point.pageCount) }
    }
  }

  /// The generations that this process has locked, including those whose state is not built yet.
  package var lockedGenerations: Set<FrameNumber> {
    lock.withLock { Set(entries.keys).union(building.keys) }
  }

  /// A Boolean value that indicates whether this process holds a generation that is not the newest.
  package var holdsOldGenerations: Bool {
    lock.withLock { entries.count > (newest == nil ? 0 : 1) || !building.isEmpty }
  }

  package var liveReferences: [FrameNumber: Int] {
    lock.withLock { entries.mapValues(\.references) }
  }
}
