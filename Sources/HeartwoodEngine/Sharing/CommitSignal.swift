import Synchronization

/// A signal that notifies observers of new commits, both in this process and in other processes.
///
/// Signals are level-triggered: an observer compares the newest generation with the last generation
/// that it received. Late or duplicate signals are therefore harmless, and several commits can
/// share one signal. During a commit, a process accesses the `locks` file only while another
/// process holds the observers' lock byte. If a process dies between its commit and its signal,
/// observers still find the commit, because they check the newest generation once a second.
package final class CommitSignal: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it.
  private let counters: SharedCounters
  private let locks: StoreLocks
  private let fileSystem: any FileSystem
  private let hasObservers = Atomic<Bool>(false)
  private let othersObserve = Atomic<Bool>(false)
  /// The time of the last check for observers in other processes, in milliseconds on the monotonic
  /// clock.
  private let lastCheckAt = Atomic<UInt64>(0)
  private let lock = Lock()
  private var observerCount = 0
  private var waiters: [UInt64: Waiter] = [:]
  private var lastWaitID: UInt64 = 0
  private var isSuspended = false
  private var thread: SystemThread?
  private var threadWatch: (any FileWatch)?
  /// The ID of the current observer thread.
  ///
  /// An observer thread ends when `threadID` is no longer its own ID.
  private var threadID: UInt64 = 0

  private struct Waiter {
    let owner: ObjectIdentifier
    let known: FrameNumber
    let resume: @Sendable (FrameNumber?) -> Void
  }

  /// The maximum age of `othersObserve`, which caches whether other processes have observers.
  private static let answerMilliseconds: UInt64 = 100
  /// The interval at which an observer checks for commits even without a signal.
  private static let checkMilliseconds: UInt64 = 1000
  /// The interval at which an observer checks for commits if it cannot watch the `locks` file.
  ///
  /// A new observer also uses this interval until it is certain that all other processes have
  /// detected the observer.
  private static let earlyCheckMilliseconds: UInt64 = 10

  package init(_ files: StoreFiles) {
    counters = files.counters
    locks = files.locks
    fileSystem = files.fileSystem
  }

  // MARK: Committing

  /// Signals to observers that a new commit is visible.
  ///
  /// This is step N2 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Complexity: Without observers, one clock read, and at most ten lock queries a second.
  package func notify() {
    // The fence orders the publication of the commit before the check for observers. An observer
    // registers before it checks for commits. Therefore, either the observer finds the commit, or
    // this check finds the observer.
    counters.fence()
    if hasObservers.load(ordering: .acquiring) { wake() }
    let now = SystemThread.monotonicMilliseconds
    if now &- lastCheckAt.load(ordering: .relaxed) >= Self.answerMilliseconds {
      lastCheckAt.store(now, ordering: .relaxed)
      // If this check fails, observers in other processes still find the commit when they next
      // poll.
      othersObserve.store(
        (try? locks.isLockedElsewhere(byte: LockByte.observing)) ?? false, ordering: .relaxed)
    }
    if othersObserve.load(ordering: .relaxed) { try? locks.file.touch() }
  }

  // MARK: Observing

  /// Adds an observer.
  ///
  /// The observer remains until the matching call to ``removeObserver()``.
  package func addObserver() {
    lock.withLock {
      observerCount += 1
      hasObservers.store(true, ordering: .releasing)
      startThread()
    }
  }

  package func removeObserver() {
    let ended = lock.withLock {
      observerCount -= 1
      hasObservers.store(observerCount > 0, ordering: .releasing)
      return observerCount == 0 ? stopThread() : nil
    }
    ended?.join()
  }

  package func makeWaitID() -> UInt64 {
    lock.withLock {
      lastWaitID += 1
      return lastWaitID
    }
  }

  /// Calls `resume` once, when a generation newer than `known` is available or the wait is
  /// cancelled.
  ///
  /// The argument of `resume` is the newest generation, or `nil` if ``cancel(_:)`` or ``end(_:)``
  /// cancelled the wait.
  ///
  /// - Parameter isOver: A function that returns whether the wait was cancelled before it began.
  ///   The method calls this function after registering the wait, so that no cancellation is
  ///   missed.
  package func wait(
    _ id: UInt64, for owner: ObjectIdentifier, after known: FrameNumber, isOver: () -> Bool,
    _ resume: @escaping @Sendable (FrameNumber?) -> Void
  ) {
    lock.withLock { waiters[id] = Waiter(owner: owner, known: known, resume: resume) }
    if isOver() { cancel(id) }
    wake()
  }

  package func cancel(_ id: UInt64) {
    lock.withLock { waiters.removeValue(forKey: id) }?.resume(nil)
  }

  /// Cancels all of an owner's waits.
  package func end(_ owner: ObjectIdentifier) {
    for waiter in removeWaiters(where: { $0.owner == owner }) { waiter.resume(nil) }
  }

  /// Ends each wait that a newly visible generation satisfies.
  ///
  /// This is step N1 of `Docs/Internals/Concurrency.md`.
  private func wake() {
    counters.fence()
    let newest = counters.committed
    for waiter in removeWaiters(where: { $0.known < newest }) { waiter.resume(newest) }
  }

  private func removeWaiters(where isChosen: (Waiter) -> Bool) -> [Waiter] {
    lock.withLock {
      let chosen = waiters.filter { isChosen($0.value) }
      for id in chosen.keys { waiters[id] = nil }
      return Array(chosen.values)
    }
  }

  // MARK: Other processes

  /// Releases the observers' lock byte, and stops the observer thread until ``resume()`` is called.
  ///
  /// Pending waits are not cancelled.
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
    guard observerCount > 0, !isSuspended, thread == nil else { return }
    _ = try? locks.tryLock(.shared, byte: LockByte.observing)
    let watch = fileSystem.watch(locks.file.path)
    threadWatch = watch
    threadID += 1
    let id = threadID
    thread = SystemThread { [self] in observe(id, watch) }
  }

  /// Stops the thread, and returns it so that the caller can join it without holding the lock.
  private func stopThread() -> SystemThread? {
    try? locks.unlock(byte: LockByte.observing)
    threadID += 1
    threadWatch?.end()
    threadWatch = nil
    lock.wakeAll()
    defer { thread = nil }
    return thread
  }

  private func observe(_ id: UInt64, _ watch: (any FileWatch)?) {
    let start = SystemThread.monotonicMilliseconds
    lock.acquire()
    while id == threadID {
      lock.release()
      wake()
      // Poll at first, because other processes may have cached the fact that there are no
      // observers.
      let isNew = SystemThread.monotonicMilliseconds &- start < 2 * Self.answerMilliseconds
      if let watch, !isNew { watch.wait(milliseconds: Self.checkMilliseconds) }
      lock.acquire()
      if id == threadID, isNew || watch == nil {
        lock.wait(milliseconds: Self.earlyCheckMilliseconds)
      }
    }
    lock.release()
  }
}
