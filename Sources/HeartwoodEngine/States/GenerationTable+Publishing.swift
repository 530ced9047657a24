extension GenerationTable {
  /// Returns the newest state that any process has appended to the log.
  ///
  /// These are steps W1.2 and W2 of `Docs/Internals/Concurrency.md`. The caller must hold the
  /// writer lock.
  ///
  /// - Complexity: One check of a page header if no other process has appended a newer state.
  ///   Otherwise, the cost of ``pinNewest()``.
  package func catchUp() throws(StorageError) -> GenerationState {
    let generation = files.counters.appended
    var state = lock.withLock { appendedState }
    if state.generation != generation { state = try self.state(at: generation) }
    while let next = try files.adoptable(after: state) {
      state = next
      files.counters.store(state.generation, CountersLayout.appended)
    }
    lock.withLock { appendedState = state }
    return state
  }

  /// Publishes the state that the next writer builds on.
  ///
  /// This is step W1.6 of `Docs/Internals/Concurrency.md`. The caller must hold the writer lock.
  package func publishAppended(_ state: GenerationState) {
    files.counters.store(state.generation, CountersLayout.appended)
    lock.withLock { appendedState = state }
  }

  /// Publishes a state to new readers, unless a newer state is already visible.
  package func publishVisible(_ state: GenerationState) {
    files.counters.raise(CountersLayout.committed, to: state.generation)
    lock.withLock { advanceVisible(state) }
  }

  private func advanceVisible(_ state: GenerationState) {
    guard state.generation > visibleState.generation else { return }
    visibleState = state
    guard let old = newest else { return }
    newest = nil
    if old.references == 0 { drop(old) }
  }

  /// Records that the commits of all processes up to `generation` are synced.
  ///
  /// The method raises the shared counter `committed` before `durable`. If a process raised
  /// `durable` first and then died, the lowest generation that may be pinned could exceed every
  /// visible generation. These are steps W3.4 and W3.5 of `Docs/Internals/Concurrency.md`.
  package func publishSynced(_ generation: FrameNumber) {
    files.counters.raise(CountersLayout.committed, to: generation)
    files.counters.raise(CountersLayout.durable, to: generation)
    lock.withLock {
      if appendedState.generation <= generation { advanceVisible(appendedState) }
      for state in [visibleState, appendedState]
      where state.generation <= generation && state.generation > durableState.generation {
        durableState = state
      }
    }
  }

  /// Replaces the newest states with copies that need neither the log up to `checkpointed` nor the
  /// deleted segments in `gone`.
  ///
  /// States that are appended during the call are not replaced, and snapshots keep their states.
  package func prune(checkpointed: FrameNumber, gone: Set<UInt64>) throws(StorageError) {
    let (appended, visible, durable) = lock.withLock {
      (appendedState, visibleState, durableState)
    }
    let newAppended = try appended.pruned(checkpointed: checkpointed, gone: gone)
    let newDurable =
      durable.generation == appended.generation
      ? newAppended : try durable.pruned(checkpointed: checkpointed, gone: gone)
    var newVisible = visible.generation == durable.generation ? newDurable : newAppended
    if newVisible.generation != visible.generation {
      newVisible = try visible.pruned(checkpointed: checkpointed, gone: gone)
    }
    lock.withLock {
      if appendedState === appended { appendedState = newAppended }
      if durableState === durable { durableState = newDurable }
      if visibleState === visible { visibleState = newVisible }
      if let entry = newest, entry.generation == newVisible.generation {
        entry.state = newVisible
      }
    }
  }

  /// Releases segments whose pages another process has checkpointed.
  ///
  /// Releasing the segments frees their disk space even if no thread in this process is reading.
  package func releaseCheckpointedSegments() throws(StorageError) {
    // Check both conditions, because a reader that adopts the page file's state updates
    // `knownState` but prunes only the state that it uses.
    guard files.counters.checkpointed > files.pageFile.knownState || holdsCheckpointedSegments
    else { return }
    let pin = try pinNewest()
    defer { unpin(pin.entry) }
    let checkpointed = files.counters.checkpointed
    if checkpointed > files.pageFile.knownState {
      files.pageFile.adoptState(checkpointed, files.cache)
    }
    try prune(checkpointed: checkpointed, gone: [])
  }

  /// A Boolean value that indicates whether any of the newest states known to this process still
  /// uses the log.
  ///
  /// A state uses the log if some of its pages can be read only from the log, or if it still refers
  /// to segments that a checkpoint has made unnecessary.
  package var needsLog: Bool {
    let checkpointed = files.counters.checkpointed
    return newestStates.contains { $0.generation > checkpointed } || holdsCheckpointedSegments
  }

  private var holdsCheckpointedSegments: Bool {
    let checkpointed = files.counters.checkpointed
    return newestStates.contains { $0.hasSegments(upTo: checkpointed) }
  }

  private var newestStates: [GenerationState] {
    lock.withLock { [appendedState, visibleState, durableState] }
  }
}
