/// The calls that are currently changing a store.
///
/// A process releases a store's locks only once these calls have ended. Otherwise, the next `Store`
/// object or process to open the store could start a lineage while one of the calls is still
/// writing to the log.
final class ChangesInProgress: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it.
  private let origin = ProcessOrigin()
  private let lock = Lock()
  private var count = 0
  private var isEnded = false
  private var onEnd: (@Sendable () -> Void)?

  /// Registers a call that is about to change the store.
  ///
  /// Each call to this method must be balanced by ``leave()``.
  ///
  /// - Throws: `closed` if the store has been closed.
  func enter() throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      guard !isEnded else { throw .closed() }
      count += 1
    }
  }

  func leave() {
    guard !origin.isInherited else { return }
    lock.acquire()
    count -= 1
    var body: (@Sendable () -> Void)?
    if count == 0 {
      body = onEnd
      onEnd = nil
      lock.wakeAll()
    }
    lock.release()
    body?()
  }

  /// Rejects further calls, and waits until the calls in progress have ended.
  func end() {
    lock.withLock {
      isEnded = true
      while count > 0 { lock.wait() }
    }
  }

  /// Rejects further calls, and runs `body` once the calls in progress have ended.
  ///
  /// If calls are in progress, `body` runs on the thread whose call ends last.
  func end(_ body: @escaping @Sendable () -> Void) {
    lock.acquire()
    isEnded = true
    let isIdle = count == 0
    if !isIdle { onEnd = body }
    lock.release()
    if isIdle { body() }
  }
}

extension StoreCore {
  /// Performs procedure O3: shuts down the shared state once no call is changing the store.
  ///
  /// If `withCheckpoint` is `false`, the method returns without waiting for these calls, because
  /// the current thread may have released the last `Store` object inside a write. Waiting for that
  /// write would cause a deadlock.
  func close(withCheckpoint: Bool) throws(StorageError) {
    guard withCheckpoint else { return changes.end { try? self.end(withCheckpoint: false) } }
    changes.end()
    try end(withCheckpoint: true)
  }
}
