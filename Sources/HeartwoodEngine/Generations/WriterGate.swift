/// Admits one writer at a time, in order of arrival, across threads and processes.
package final class WriterGate: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let locks: StoreLocks
  private let lock = Lock()
  private var nextTicket: UInt64 = 0
  private var served: UInt64 = 0
  private var abandoned: Set<UInt64> = []
  private var owner: UInt?

  package init(locks: StoreLocks) { self.locks = locks }

  /// Whether the calling thread is the writer.
  package var isHeldByThisThread: Bool {
    lock.withLock { owner == SystemThread.current }
  }

  /// Waits until this thread is the only writer.
  ///
  /// - Precondition: The thread is not the writer already: it would wait for itself.
  /// - Throws: `busy` after `timeout` milliseconds; `nil` waits without limit.
  package func enter(timeout: UInt64?) throws(StorageError) {
    let deadline = timeout.map { SystemThread.monotonicMilliseconds &+ $0 }
    lock.acquire()
    defer { lock.release() }
    precondition(
      owner != SystemThread.current, "a write was started inside a write on the same thread")
    let ticket = nextTicket
    nextTicket += 1
    while served != ticket {
      guard wait(until: deadline) else {
        abandoned.insert(ticket)
        throw Self.busy
      }
    }
    do throws(StorageError) {
      while try !locks.tryLock(.exclusive, byte: LockByte.writer) {
        if let deadline, SystemThread.monotonicMilliseconds >= deadline { throw Self.busy }
        lock.wait(milliseconds: 1)
      }
    } catch {
      serveNext()
      throw error
    }
    owner = SystemThread.current
  }

  /// Lets the next writer in.
  package func leave() {
    lock.withLock {
      owner = nil
      // An unlock that fails leaves the byte to the next writer of this process, who converts it.
      try? locks.unlock(byte: LockByte.writer)
      serveNext()
    }
  }

  private func serveNext() {
    served += 1
    while abandoned.remove(served) != nil { served += 1 }
    if served != nextTicket { lock.wakeAll() }
  }

  /// Waits for a wake-up; false when the deadline has passed.
  private func wait(until deadline: UInt64?) -> Bool {
    guard let deadline else {
      lock.wait()
      return true
    }
    let now = SystemThread.monotonicMilliseconds
    guard now < deadline else { return false }
    lock.wait(milliseconds: deadline - now)
    return true
  }

  private static let busy = StorageError(
    .busy,
    "Another writer held the store for longer than `busyTimeout`. Make its transactions shorter, "
      + "or wait longer.")
}
