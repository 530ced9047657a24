/// Admits one writer at a time, in order of arrival, across threads and processes.
///
/// The writer who leaves hands over to the one who waits longest, and wakes nobody else.
package final class WriterGate: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let locks: StoreLocks
  private let lock = Lock()
  private var owner: UInt?
  private var isTaken = false
  private var waiting: [Turn] = []

  /// One waiting thread; `hasCome` is guarded by the turn's own lock.
  private final class Turn {
    let lock = Lock()
    var hasCome = false
  }

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
    precondition(
      owner != SystemThread.current, "a write was started inside a write on the same thread")
    if isTaken {
      let turn = Turn()
      waiting.append(turn)
      lock.release()
      try wait(for: turn, until: deadline)
    } else {
      isTaken = true
      lock.release()
    }
    do throws(StorageError) {
      while try !locks.tryLock(.exclusive, byte: LockByte.writer) {
        if let deadline, SystemThread.monotonicMilliseconds >= deadline { throw Self.busy }
        SystemThread.sleep(milliseconds: 1)
      }
    } catch {
      handOver()
      throw error
    }
    lock.withLock { owner = SystemThread.current }
  }

  /// Lets the next writer in.
  package func leave() {
    lock.withLock { owner = nil }
    // An unlock that fails leaves the byte to the next writer of this process, who has it already.
    try? locks.unlock(byte: LockByte.writer)
    handOver()
  }

  private func handOver() {
    lock.acquire()
    guard !waiting.isEmpty else {
      isTaken = false
      lock.release()
      return
    }
    let turn = waiting.removeFirst()
    lock.release()
    turn.lock.withLock {
      turn.hasCome = true
      turn.lock.wakeAll()
    }
  }

  private func wait(for turn: Turn, until deadline: UInt64?) throws(StorageError) {
    turn.lock.acquire()
    while !turn.hasCome {
      guard let deadline else {
        turn.lock.wait()
        continue
      }
      let now = SystemThread.monotonicMilliseconds
      guard now < deadline else { break }
      turn.lock.wait(milliseconds: deadline - now)
    }
    let hasCome = turn.hasCome
    turn.lock.release()
    if hasCome { return }
    let wasWaiting = lock.withLock {
      let place = waiting.firstIndex { $0 === turn }
      if let place { waiting.remove(at: place) }
      return place != nil
    }
    if wasWaiting { throw Self.busy }
    // The turn came at the last moment and is on its way; it is taken, so that it is not lost.
    try wait(for: turn, until: nil)
  }

  private static let busy = StorageError(
    .busy,
    "Another writer held the store for longer than `busyTimeout`. Make its transactions shorter, "
      + "or wait longer.")
}
