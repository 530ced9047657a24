// What writers, syncs and passes make known.
extension GenerationTable {
  /// W1.2 and W2: the newest appended state, whoever made it; under the writer lock.
  ///
  /// - Complexity: One look at a page header if nobody else has written, else as ``pinNewest()``.
  package func catchUp() throws(StorageError) -> GenerationState {
    let generation = files.words.appended
    var state = lock.withLock { appendedState }
    if state.generation != generation { state = try self.state(at: generation) }
    while let next = try files.adoptable(after: state) {
      state = next
      files.words.store(state.generation, CountersLayout.appended)
    }
    lock.withLock { appendedState = state }
    return state
  }

  /// W1.6: the state every later writer builds on; under the writer lock.
  package func publishAppended(_ state: GenerationState) {
    files.words.store(state.generation, CountersLayout.appended)
    lock.withLock { appendedState = state }
  }

  /// Makes a state the one that new readers see, unless a newer one is visible already.
  package func publishVisible(_ state: GenerationState) {
    files.words.raise(CountersLayout.committed, to: state.generation)
    lock.withLock { noteVisible(state) }
  }

  private func noteVisible(_ state: GenerationState) {
    guard state.generation > visibleState.generation else { return }
    visibleState = state
    guard let old = newest else { return }
    newest = nil
    if old.references == 0 { drop(old) }
  }

  /// W3.4 and W3.5: everything up to `generation` is synced, whoever made it.
  ///
  /// Visible before durable, never the other way round: a death in between must not leave a floor
  /// above every visible generation.
  package func publishSynced(_ generation: FrameNumber) {
    files.words.raise(CountersLayout.committed, to: generation)
    files.words.raise(CountersLayout.durable, to: generation)
    lock.withLock {
      if appendedState.generation <= generation { noteVisible(appendedState) }
      for state in [visibleState, appendedState]
      where state.generation <= generation && state.generation > durableState.generation {
        durableState = state
      }
    }
  }

  /// Exchanges the newest states for copies that no longer need the log up to `backfilled`, nor
  /// the segments that are gone: the space of one returns when nobody has it open.
  ///
  /// What is appended meanwhile stays as it is. Snapshots keep what they have.
  package func prune(
    backfilled: FrameNumber, gone: Set<UInt64>
  ) throws(StorageError) {
    let (appended, visible, durable) = lock.withLock {
      (appendedState, visibleState, durableState)
    }
    let newAppended = try appended.pruned(backfilled: backfilled, gone: gone, files: files)
    let newDurable =
      durable.generation == appended.generation
      ? newAppended
      : try durable.pruned(backfilled: backfilled, gone: gone, files: files)
    var newVisible = visible.generation == durable.generation ? newDurable : newAppended
    if newVisible.generation != visible.generation {
      newVisible = try visible.pruned(backfilled: backfilled, gone: gone, files: files)
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

  /// Lets go of what another process has moved to the page file, so that the space of deleted
  /// segments returns although nobody reads here.
  package func noteOthersPasses() throws(StorageError) {
    guard files.words.backfilled > files.pageFile.knownState else { return }
    let pin = try pinNewest()
    defer { unpin(pin.entry) }
    let backfilled = files.words.backfilled
    files.pageFile.noteState(backfilled, files.cache)
    try prune(backfilled: backfilled, gone: [])
  }

  /// Whether what is known here needs the log.
  package var needsLog: Bool {
    lock.withLock { appendedState.generation } > files.words.backfilled
  }
}
