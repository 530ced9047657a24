/// Queries about the generations live in this process, each answered under the lock of the table.
extension GenerationTable {
  /// The states live in this process, by generation.
  package var liveStates: [FrameNumber: GenerationState] {
    lock.withLock { entries.mapValues(\.state) }
  }

  /// The page count of the largest state that this process reads or builds on.
  package var greatestPageCount: PageNumber {
    lock.withLock {
      entries.values.reduce(
        max(
          appendedState.point.pageCount, visibleState.point.pageCount,
          durableState.point.pageCount)
      ) { max($0, $1.state.point.pageCount) }
    }
  }

  /// The generations whose byte this process has locked, with or without a state yet.
  package var lockedGenerations: Set<FrameNumber> {
    lock.withLock { Set(entries.keys).union(building.keys) }
  }

  /// Whether this process holds a generation other than the newest.
  package var holdsOldGenerations: Bool {
    lock.withLock { entries.count > (newest == nil ? 0 : 1) || !building.isEmpty }
  }

  /// The number of references to each live generation.
  package var liveReferences: [FrameNumber: Int] {
    lock.withLock { entries.mapValues(\.references) }
  }
}
