/// Admits one writer at a time, in order of arrival, across threads and processes.
///
/// The writer who leaves hands over to the one who waits longest, and wakes nobody else.
package final class WriterGate: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let locks: StoreLocks
  private let words: SharedWords
  private let holders: HolderFile
  /// Asked for once: it is a system call.
  private let process = ProcessIdentity.own
  /// Rings that were answered; used by the one whose turn it is.
  private var heardRings: UInt64 = 0
  /// What tells this process from others, in the word that says who was the last writer.
  private let token = UInt64.random(in: 1 ... .max)
  private let origin = ProcessOrigin()
  private let lock = Lock()
  private var owner: UInt?
  private var isTaken = false
  private var waiting: [Turn] = []

  /// One waiting thread; `hasCome` is guarded by the turn's own lock.
  private final class Turn {
    let lock = Lock()
    var hasCome = false
  }

  package init(locks: StoreLocks, words: SharedWords, holders: HolderFile) {
    self.locks = locks
    self.words = words
    self.holders = holders
  }

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
    precondition(!isHeldByThisThread, "a write was started inside a write on the same thread")
    assert(
      LockOrder.enter(LockByte.writer, of: locks.file),
      "the writer lock was asked for against the order")
    do throws(StorageError) {
      try takeTurn(until: deadline)
    } catch {
      assert(LockOrder.leave(LockByte.writer, of: locks.file))
      throw error
    }
    lock.withLock { owner = SystemThread.current }
    let claim = WriterClaim(process: process, since: SystemThread.monotonicMilliseconds)
    words.store(claim.word, CountersLayout.writer)
    words.store(token, CountersLayout.lastWriter)
  }

  private func takeTurn(until deadline: UInt64?) throws(StorageError) {
    lock.acquire()
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
      try giveWay()
      try lockByte(until: deadline)
    } catch {
      handOver()
      throw error
    }
  }

  /// Lets the next writer in.
  package func leave() {
    guard !origin.isInherited else { return }
    assert(LockOrder.leave(LockByte.writer, of: locks.file))
    lock.withLock { owner = nil }
    words.store(0, CountersLayout.writer)
    // An unlock that fails leaves the byte to the next writer of this process, who has it already.
    try? locks.unlock(byte: LockByte.writer)
    handOver()
  }

  /// Waits for writers of other processes.
  private func lockByte(until deadline: UInt64?) throws(StorageError) {
    guard try !locks.tryLock(.exclusive, byte: LockByte.writer) else { return }
    // Heard by the writer when he wants to come again: a lock that is asked for again and again has
    // no queue.
    guard try locks.tryLock(.shared, byte: LockByte.doorbell) else {
      throw StorageError(.io, "Something holds the doorbell's lock; no Heartwood store does that.")
    }
    defer { try? locks.unlock(byte: LockByte.doorbell) }
    var pause: UInt64 = 0
    var ringsAt: UInt64 = 0
    while try !locks.tryLock(.exclusive, byte: LockByte.writer) {
      let now = SystemThread.monotonicMilliseconds
      if let deadline, now >= deadline { throw busy() }
      if now >= ringsAt {
        words.add(1, CountersLayout.rings)
        ringsAt = now + Self.ringMilliseconds
      }
      SystemThread.sleep(microseconds: pause)
      pause = min(pause + 5, Self.longestPauseMicroseconds)
    }
  }

  /// How often a writer who waits rings again: who stands still does not.
  private static let ringMilliseconds: UInt64 = 5

  /// How long he sleeps between two tries, at most: a lock without a queue is his when he asks at
  /// the right time.
  private static let longestPauseMicroseconds: UInt64 = 200

  /// How long a ring is answered.
  private static let answerMilliseconds: UInt64 = 2

  /// Lets a writer of another process go first, if any has rung and none has been the writer since
  /// this process was.
  ///
  /// Each ring is answered once: who rang may stand still by now.
  private func giveWay() throws(StorageError) {
    let rings = words.load(CountersLayout.rings)
    guard rings != heardRings, words.load(CountersLayout.lastWriter) == token else { return }
    heardRings = rings
    let start = SystemThread.monotonicMilliseconds
    while try locks.isLockedElsewhere(byte: LockByte.doorbell),
      words.load(CountersLayout.lastWriter) == token,
      SystemThread.monotonicMilliseconds - start <= Self.answerMilliseconds
    {
      SystemThread.sleep(microseconds: 50)
    }
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
    if wasWaiting { throw busy() }
    // The turn came at the last moment and is on its way; it is taken, so that it is not lost.
    try wait(for: turn, until: nil)
  }

  private func busy() -> StorageError {
    StorageError(
      .busy,
      "Another writer held the store for longer than `busyTimeout`\(writerText). Make its "
        + "transactions shorter, or wait longer.")
  }

  /// Who the writer is and since when, as the end of a sentence; empty where it is not known.
  private var writerText: String {
    guard let claim = WriterClaim(word: words.load(CountersLayout.writer)) else { return "" }
    let age = claim.age(at: SystemThread.monotonicMilliseconds)
    guard claim.process != process else { return ": this process, for \(age)" }
    // A process that died may have been the writer, and whoever has the lock now not said so yet.
    guard locks.isSetElsewhere(.open(claim.process, isReadOnly: false)) else { return "" }
    let name = HolderFile.name(of: claim.process, among: holders.rows()).map { " (\($0))" } ?? ""
    return ": process \(claim.process)\(name), for \(age)"
  }
}
