// Releasing every generation, and starting again.
extension GenerationTable {
  /// Whether the table is between ``suspend()`` and ``resume(at:)``.
  package var isSuspended: Bool { lock.withLock { suspended } }

  /// Acquires the table's lock.
  ///
  /// - Throws: `suspended`, without the lock.
  func acquireActive() throws(StorageError) {
    lock.acquire()
    guard suspended else { return }
    lock.release()
    throw Suspensions.suspended
  }

  /// - Throws: `suspended` if the table is suspended.
  package func requireActive() throws(StorageError) {
    try acquireActive()
    lock.release()
  }

  /// S1: releases every live generation and ends its snapshots; nothing can be pinned until
  /// ``resume(at:)``.
  ///
  /// - Throws: `suspended` if it is suspended already; `io` if a lock cannot be released, after
  ///   releasing the others.
  package func suspend() throws(StorageError) {
    try acquireActive()
    defer { lock.release() }
    suspended = true
    // A thread that is building a state holds a verified lock, and adds the entry a moment later.
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

  /// S3: continues from a state that was read from the files.
  package func resume(at state: GenerationState) {
    lock.withLock {
      appendedState = state
      visibleState = state
      durableState = state
      suspended = false
    }
  }
}
