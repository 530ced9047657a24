/// What is live in this process: questions about the table, each answered under its lock.
extension GenerationTable {
  /// The states live in this process, by generation.
  package var liveStates: [FrameNumber: GenerationState] {
    lock.withLock { entries.mapValues(\.state) }
  }

  /// The page count of the largest state that is read or built on in this process.
  package var greatestPageCount: PageNumber {
    lock.withLock {
      entries.values.reduce(
        max(
          appendedState.point.pageCount, visibleState.point.pageCount,
          durableState.point.pageCount)
      ) { max($0, $1.state.point.pageCount) }
    }
  }

  /// Generations whose byte this process holds, with or without a state yet.
  package var lockedGenerations: Set<FrameNumber> {
    lock.withLock { Set(entries.keys).union(building.keys) }
  }

  /// Whether this process holds a generation that is not the newest.
  package var holdsOldGenerations: Bool {
    lock.withLock { entries.count > (newest == nil ? 0 : 1) || !building.isEmpty }
  }

  /// Generations with the number of references to each.
  package var liveReferences: [FrameNumber: Int] {
    lock.withLock { entries.mapValues(\.references) }
  }
}
