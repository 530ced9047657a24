extension GenerationTable {
  package var isSuspended: Bool { lock.withLock { suspended } }

  /// Acquires the table's lock, or throws `suspended` without acquiring it.
  func acquireActive() throws(StorageError) {
    lock.acquire()
    guard suspended else { return }
    lock.release()
    throw Suspensions.suspended
  }

  package func requireActive() throws(StorageError) {
    try acquireActive()
    lock.release()
  }

  /// Performs step S1: releases every live generation, invalidates its snapshots, and prevents
  /// pinning.
  ///
  /// - Throws: `suspended` if the table is already suspended. Throws `io` if a lock could not be
  ///   released, but only after all other locks have been released.
  package func suspend() throws(StorageError) {
    try acquireActive()
    defer { lock.release() }
    suspended = true
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
    if let failure { throw failure }
  }

  /// Performs step S3: continues from a state that was read from the files.
  package func resume(at state: GenerationState) {
    lock.withLock {
      appendedState = state
      visibleState = state
      durableState = state
      suspended = false
    }
  }
}
