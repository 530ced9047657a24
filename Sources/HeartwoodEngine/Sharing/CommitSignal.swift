import Synchronization

/// Tells those who listen, in this process and in others, that there is a newer commit.
///
/// Level-triggered: who listens compares the newest generation with the last one he was given, so a
/// signal that comes late, twice or for several commits does no harm. Who commits touches the file
/// of locks, and only while somebody elsewhere listens, which a lock byte tells. A signal that was
/// never sent, because its sender died between the commit and it, is made up for by looking at the
/// newest generation once a second. Thread-safe.
package final class CommitSignal: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let words: SharedWords
  private let locks: StoreLocks
  private let fileSystem: any FileSystem
  private let hasListeners = Atomic<Bool>(false)
  private let othersListen = Atomic<Bool>(false)
  /// When the byte was last looked at, in monotonic milliseconds.
  private let lookedAt = Atomic<UInt64>(0)
  private let lock = Lock()
  private var listenerCount = 0
  private var waiters: [UInt64: Waiter] = [:]
  private var lastNumber: UInt64 = 0
  private var isSuspended = false
  private var thread: SystemThread?
  private var threadWatch: (any FileWatch)?
  /// Which of all threads there were is the present one.
  private var threadNumber: UInt64 = 0

  private struct Waiter {
    let owner: ObjectIdentifier
    let known: FrameNumber
    let resume: @Sendable (FrameNumber?) -> Void
  }

  /// How old the answer may be whether somebody elsewhere listens.
  private static let answerMilliseconds: UInt64 = 100
  /// How often who listens looks for himself.
  private static let lookMilliseconds: UInt64 = 1000
  /// The same while signals may not come yet, or never do.
  private static let earlyLookMilliseconds: UInt64 = 10

  package init(_ files: StoreFiles) {
    words = files.words
    locks = files.locks
    fileSystem = files.fileSystem
  }

  // MARK: Committing

  /// N2: tells of a commit that is visible now.
  ///
  /// - Complexity: Without listeners, one look at a clock, and one question about a lock in a tenth
  ///   of a second.
  package func ring() {
    // Commit, then look for listeners; they are entered, then look for commits.
    words.fence()
    if hasListeners.load(ordering: .acquiring) { wake() }
    let now = SystemThread.monotonicMilliseconds
    if now &- lookedAt.load(ordering: .relaxed) >= Self.answerMilliseconds {
      lookedAt.store(now, ordering: .relaxed)
      // Who cannot be asked for is not told; he looks for himself.
      othersListen.store(
        (try? locks.isLockedElsewhere(byte: LockByte.listening)) ?? false, ordering: .relaxed)
    }
    if othersListen.load(ordering: .relaxed) { try? locks.file.touch() }
  }

  // MARK: Listening

  /// One more who listens; to be followed by as many calls of ``leave()``.
  package func enter() {
    lock.withLock {
      listenerCount += 1
      hasListeners.store(true, ordering: .releasing)
      startThread()
    }
  }

  /// One listener less.
  package func leave() {
    let ended = lock.withLock {
      listenerCount -= 1
      hasListeners.store(listenerCount > 0, ordering: .releasing)
      return listenerCount == 0 ? stopThread() : nil
    }
    ended?.join()
  }

  /// A number for a wait that is to come.
  package func nextNumber() -> UInt64 {
    lock.withLock {
      lastNumber += 1
      return lastNumber
    }
  }

  /// Calls `resume` once: with the newest generation when that is newer than `known`, or with `nil`
  /// when the wait is given up or its owner ends.
  ///
  /// - Parameters:
  ///   - number: From ``nextNumber()``, to give the wait up by.
  ///   - isOver: Whether it was given up before it began; asked after it can be.
  package func wait(
    _ number: UInt64, for owner: ObjectIdentifier, after known: FrameNumber, isOver: () -> Bool,
    _ resume: @escaping @Sendable (FrameNumber?) -> Void
  ) {
    lock.withLock { waiters[number] = Waiter(owner: owner, known: known, resume: resume) }
    if isOver() { giveUp(number) }
    wake()
  }

  /// Ends one wait, if it is still going on.
  package func giveUp(_ number: UInt64) {
    lock.withLock { waiters.removeValue(forKey: number) }?.resume(nil)
  }

  /// Ends all waits of an owner.
  package func end(_ owner: ObjectIdentifier) {
    for waiter in take(where: { $0.owner == owner }) { waiter.resume(nil) }
  }

  /// N1: wakes those for whom there is something new.
  private func wake() {
    words.fence()
    let newest = words.committed
    for waiter in take(where: { $0.known < newest }) { waiter.resume(newest) }
  }

  private func take(where isChosen: (Waiter) -> Bool) -> [Waiter] {
    lock.withLock {
      let chosen = waiters.filter { isChosen($0.value) }
      for number in chosen.keys { waiters[number] = nil }
      return Array(chosen.values)
    }
  }

  // MARK: Other processes

  /// Gives up the byte and the thread, until ``resume()`` if there is one; those who wait go on
  /// waiting.
  package func suspend() {
    lock.withLock { () -> SystemThread? in
      isSuspended = true
      return stopThread()
    }?.join()
  }

  package func resume() {
    lock.withLock {
      isSuspended = false
      startThread()
    }
  }

  private func startThread() {
    guard listenerCount > 0, !isSuspended, thread == nil else { return }
    _ = try? locks.tryLock(.shared, byte: LockByte.listening)
    let watch = fileSystem.watch(locks.file.path)
    threadWatch = watch
    threadNumber += 1
    let number = threadNumber
    thread = SystemThread { [self] in listen(number, watch) }
  }

  /// The thread that ends now, to be joined without the lock.
  private func stopThread() -> SystemThread? {
    try? locks.unlock(byte: LockByte.listening)
    threadNumber += 1
    threadWatch?.end()
    threadWatch = nil
    lock.wakeAll()
    defer { thread = nil }
    return thread
  }

  /// The life of the thread.
  private func listen(_ number: UInt64, _ watch: (any FileWatch)?) {
    let start = SystemThread.monotonicMilliseconds
    lock.acquire()
    while number == threadNumber {
      lock.release()
      wake()
      // Until every answer is younger than the byte, and has been.
      let isNew = SystemThread.monotonicMilliseconds &- start < 2 * Self.answerMilliseconds
      if let watch, !isNew { watch.wait(milliseconds: Self.lookMilliseconds) }
      lock.acquire()
      if number == threadNumber, isNew || watch == nil {
        lock.wait(milliseconds: Self.earlyLookMilliseconds)
      }
    }
    lock.release()
  }
}
