// Giving up every generation, and beginning anew.
extension GenerationTable {
  /// Whether it stands between ``suspend()`` and ``resume(at:)``.
  package var isSuspended: Bool { lock.withLock { suspended } }

  /// Takes the table's lock.
  ///
  /// - Throws: `suspended`, without the lock.
  func acquireActive() throws(StorageError) {
    lock.acquire()
    guard suspended else { return }
    lock.release()
    throw Suspensions.suspended
  }

  /// - Throws: `suspended` if it is.
  package func requireActive() throws(StorageError) {
    try acquireActive()
    lock.release()
  }

  /// S1: gives up every live generation and ends the snapshots that show them; no other is pinned
  /// until ``resume(at:)``.
  ///
  /// - Throws: `suspended` if it is already; `io` if a lock cannot be given back, and the rest then
  ///   is.
  package func suspend() throws(StorageError) {
    try acquireActive()
    defer { lock.release() }
    suspended = true
    // Who is finding a state holds a verified lock, and enters it a moment later.
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

  /// S3: goes on from a state that was found in the files.
  package func resume(at state: GenerationState) {
    lock.withLock {
      appendedState = state
      visibleState = state
      durableState = state
      suspended = false
    }
  }
}
