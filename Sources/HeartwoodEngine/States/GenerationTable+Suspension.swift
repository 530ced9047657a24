extension GenerationTable {
  package var isSuspended: Bool { lock.withLock { phase == .suspended } }

  /// Acquires the table's lock, or throws `suspended` or `closed` without acquiring it.
  func acquireActive() throws(StorageError) {
    lock.acquire()
    guard phase != .active else { return }
    let isEnded = phase == .ended
    lock.release()
    throw isEnded ? .closed(files.directory) : Suspensions.suspended
  }

  package func requireActive() throws(StorageError) {
    try acquireActive()
    lock.release()
  }

  /// Releases every live generation, invalidates all snapshots, and prevents pinning.
  ///
  /// If the store has already been closed, the method also calls the function that was passed to
  /// ``end(_:)``, because no generation is held anymore. This is step S1 of
  /// `Docs/Internals/Concurrency.md`.
  ///
  /// - Throws: `io` if a lock could not be released, but only after all other locks have been
  ///   released.
  package func suspend() throws(StorageError) {
    let (failure, onUnused) = lock.withLock { (releaseAll(), takeOnUnused()) }
    onUnused?()
    if let failure { throw failure }
  }

  private func releaseAll() -> StorageError? {
    if phase == .active { phase = .suspended }
    // Wait for threads that are building a state. Each such thread holds a lock that must be
    // released too.
    while !building.isEmpty { lock.wait(milliseconds: 1) }
    files.suspensions.add()
    var failure: StorageError?
    for entry in entries.values {
      entry.isOver = true
      do throws(StorageError) { try files.locks.unlockLive(entry.generation) } catch {
        failure = error
      }
    }
    entries = [:]
    newest = nil
    return failure
  }

  /// Makes `state` the newest state, and allows pinning again.
  ///
  /// The caller has just read `state` from the files. This is step S3 of
  /// `Docs/Internals/Concurrency.md`.
  package func resume(at state: GenerationState) {
    lock.withLock {
      appendedState = state
      visibleState = state
      durableState = state
      phase = .active
    }
  }

  // MARK: Closing

  /// Prevents further pinning after the store has been closed.
  ///
  /// - Parameter onUnused: A function that the table calls once, when no generation is held
  ///   anymore.
  package func end(_ onUnused: @escaping @Sendable () -> Void) {
    stopLingering()
    let present = lock.withLock {
      phase = .ended
      self.onUnused = onUnused
      return takeOnUnused()
    }
    present?()
  }

  /// Returns and clears `onUnused`, or returns `nil` if the store is open or a generation is still
  /// live.
  ///
  /// The result is also `nil` if an earlier call has already returned the function.
  ///
  /// The caller must hold the table's lock, and must release it before calling the returned
  /// function.
  func takeOnUnused() -> (@Sendable () -> Void)? {
    guard let found = onUnused, entries.isEmpty, building.isEmpty else { return nil }
    onUnused = nil
    return found
  }
}
