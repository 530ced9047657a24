/// The writer lock, which admits one writer at a time across threads and processes.
///
/// The lock admits threads in order of arrival, and wakes only the admitted thread.
package final class WriterLock: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it. Only the admitted
  // thread uses `answeredRings`.
  private let locks: StoreLocks
  private let counters: SharedCounters
  private let holders: HolderFile
  private let suspensions: Suspensions
  /// The PID of this process, cached because reading it requires a system call.
  private let process = ProcessIdentity.own
  /// The value of the shared counter `rings` when this process last yielded to another process.
  private var answeredRings: UInt64 = 0
  /// A random number that identifies this process in the `lastWriter` counter.
  private let token = UInt64.random(in: 1 ... .max)
  private let origin = ProcessOrigin()
  private let lock = Lock()
  private var owner: UInt?
  private var isHeld = false
  private var waiting: [Turn] = []

  /// A waiting thread's place in the queue.
  ///
  /// The turn's own lock guards `isAdmitted`.
  private final class Turn {
    let lock = Lock()
    var isAdmitted = false
  }

  init(
    locks: StoreLocks, counters: SharedCounters, holders: HolderFile, suspensions: Suspensions
  ) {
    self.locks = locks
    self.counters = counters
    self.holders = holders
    self.suspensions = suspensions
  }

  package var isHeldByThisThread: Bool {
    lock.withLock { owner == SystemThread.current }
  }

  /// Waits until no other thread or process holds the writer lock, and then acquires the lock.
  ///
  /// - Precondition: The thread does not already hold the writer lock. Otherwise, it would wait for
  ///   itself forever.
  /// - Throws: `busy` after `timeout` milliseconds, unless `timeout` is `nil`. Throws `suspended`
  ///   if the store has been suspended, or if a suspension is requested while this thread waits for
  ///   another process.
  package func acquire(timeout: UInt64?) throws(StorageError) {
    let deadline = timeout.map { SystemThread.monotonicMilliseconds &+ $0 }
    precondition(
      !isHeldByThisThread,
      "A write was started inside another write on the same thread. Use the transaction of the "
        + "outer write instead.")
    assert(
      LockOrder.enter(LockByte.writer, of: locks.file),
      "A thread requested the writer lock out of order.")
    do throws(StorageError) {
      try waitForTurnAndByte(until: deadline)
    } catch {
      assert(LockOrder.leave(LockByte.writer, of: locks.file))
      throw error
    }
    lock.withLock { owner = SystemThread.current }
    let claim = WriterClaim(process: process, since: SystemThread.monotonicMilliseconds)
    counters.store(claim.word, CountersLayout.writer)
    counters.store(token, CountersLayout.lastWriter)
  }

  /// Runs `body` while no thread of this process holds the writer lock.
  ///
  /// The method does not lock the writer's lock byte, so other processes can write in the meantime.
  ///
  /// - Parameter deadline: The time at which to stop waiting, in milliseconds on the monotonic
  ///   clock.
  /// - Throws: `busy` if the deadline passes before `body` runs, or any error that `body` throws.
  func excludingThreads(
    until deadline: UInt64, _ body: () throws(StorageError) -> Void
  ) throws(StorageError) {
    assert(
      LockOrder.enter(LockByte.writer, of: locks.file),
      "A thread requested the writer lock out of order.")
    defer { assert(LockOrder.leave(LockByte.writer, of: locks.file)) }
    try waitForTurn(until: deadline)
    defer { admitNext() }
    try body()
  }

  /// Waits until no other thread of this process holds the lock.
  private func waitForTurn(until deadline: UInt64?) throws(StorageError) {
    lock.acquire()
    if isHeld {
      let turn = Turn()
      waiting.append(turn)
      lock.release()
      try wait(for: turn, until: deadline)
    } else {
      isHeld = true
      lock.release()
    }
  }

  private func waitForTurnAndByte(until deadline: UInt64?) throws(StorageError) {
    try waitForTurn(until: deadline)
    do throws(StorageError) {
      // Check again, because the store may have been suspended while this thread waited for its
      // turn.
      try suspensions.requireActive()
      try yieldToWaitingProcess()
      try lockByte(until: deadline)
    } catch {
      admitNext()
      throw error
    }
  }

  package func release() {
    guard !origin.isInherited else { return }
    assert(LockOrder.leave(LockByte.writer, of: locks.file))
    lock.withLock { owner = nil }
    counters.store(0, CountersLayout.writer)
    // Ignore a failure, because this process's next writer can still acquire the lock.
    try? locks.unlock(byte: LockByte.writer)
    admitNext()
  }

  private func lockByte(until deadline: UInt64?) throws(StorageError) {
    guard try !locks.tryLock(.exclusive, byte: LockByte.writer) else { return }
    // Lock the doorbell byte to show that this process is waiting. A writer checks that byte before
    // it acquires the writer lock again. Without the doorbell, a process that writes continuously
    // could starve this process, because waiting processes poll instead of queueing.
    guard try locks.tryLock(.shared, byte: LockByte.doorbell) else {
      throw StorageError(
        .io,
        "Another program holds an exclusive lock on a byte that Heartwood locks only in shared "
          + "mode. Find the program that has locked the `locks` file, and stop it.")
    }
    defer { try? locks.unlock(byte: LockByte.doorbell) }
    var pause: UInt64 = 0
    var ringsAt: UInt64 = 0
    while try !locks.tryLock(.exclusive, byte: LockByte.writer) {
      try suspensions.requireNoRequest()
      let now = SystemThread.monotonicMilliseconds
      if let deadline, now >= deadline { throw busy() }
      if now >= ringsAt {
        counters.add(1, CountersLayout.rings)
        ringsAt = now + Self.ringMilliseconds
      }
      SystemThread.sleep(microseconds: pause)
      pause = min(pause + 5, Self.longestPauseMicroseconds)
    }
  }

  /// The interval at which a waiting writer increments the shared `rings` counter.
  ///
  /// Each increment shows that the writer is not suspended.
  private static let ringMilliseconds: UInt64 = 5

  /// The longest sleep between two attempts.
  private static let longestPauseMicroseconds: UInt64 = 200

  /// The maximum time that this process yields to a waiting process.
  private static let answerMilliseconds: UInt64 = 2

  /// Yields to a waiting process that has incremented `rings`, if this process was the last writer.
  ///
  /// The process yields only once for each new value of `rings`, because the waiting process may be
  /// suspended by now.
  private func yieldToWaitingProcess() throws(StorageError) {
    let rings = counters.load(CountersLayout.rings)
    guard rings != answeredRings, counters.load(CountersLayout.lastWriter) == token else { return }
    answeredRings = rings
    let start = SystemThread.monotonicMilliseconds
    while try locks.isLockedElsewhere(byte: LockByte.doorbell),
      counters.load(CountersLayout.lastWriter) == token,
      SystemThread.monotonicMilliseconds - start <= Self.answerMilliseconds
    {
      SystemThread.sleep(microseconds: 50)
    }
  }

  private func admitNext() {
    lock.acquire()
    guard !waiting.isEmpty else {
      isHeld = false
      lock.release()
      return
    }
    let turn = waiting.removeFirst()
    lock.release()
    turn.lock.withLock {
      turn.isAdmitted = true
      turn.lock.wakeAll()
    }
  }

  private func wait(for turn: Turn, until deadline: UInt64?) throws(StorageError) {
    turn.lock.acquire()
    while !turn.isAdmitted {
      guard let deadline else {
        turn.lock.wait()
        continue
      }
      let now = SystemThread.monotonicMilliseconds
      guard now < deadline else { break }
      turn.lock.wait(milliseconds: deadline - now)
    }
    let isAdmitted = turn.isAdmitted
    turn.lock.release()
    if isAdmitted { return }
    let wasWaiting = lock.withLock {
      let index = waiting.firstIndex { $0 === turn }
      if let index { waiting.remove(at: index) }
      return index != nil
    }
    if wasWaiting { throw busy() }
    // This thread received its turn just as the deadline passed. Accept the turn, because no other
    // thread would use it.
    try wait(for: turn, until: nil)
  }

  private func busy() -> StorageError {
    StorageError(
      .busy,
      "Another transaction held the writer lock for longer than `busyTimeout`\(writerText). "
        + "If the process that holds the lock is suspended, resume or end it. Otherwise, shorten "
        + "the transaction, or increase `busyTimeout`.")
  }

  /// A phrase that describes the current writer, for use in error messages.
  ///
  /// The phrase is empty if the writer is unknown.
  private var writerText: String {
    guard let claim = WriterClaim(word: counters.load(CountersLayout.writer)) else { return "" }
    let age = claim.age(at: SystemThread.monotonicMilliseconds)
    guard claim.process != process else { return ": this process has been writing for \(age)" }
    // Name the recorded writer only if it still has the store open, because otherwise it has died.
    guard locks.isSetElsewhere(.open(claim.process, isReadOnly: false)) else { return "" }
    let name = HolderFile.name(of: claim.process, among: holders.rows()).map { " (\($0))" } ?? ""
    return ": process \(claim.process)\(name) has been writing for \(age)"
  }
}
