/// The live generations of this process, and the newest states.
///
/// Each live generation has a reference count and a lock byte. The byte is locked while there are
/// references. A pin is *verified* once it is certain that no maintenance run released the
/// generation before the byte was locked. The table's lock is held until the pin is verified, so
/// that no other thread shares an unverified pin. Steps are numbered as in
/// `Docs/Internals/Concurrency.md`.
package final class GenerationTable: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it.
  let files: StoreFiles
  let lock = Lock()
  /// A Boolean value that indicates whether the newest generation stays pinned briefly after its
  /// last reference is released.
  private var lingers: Bool
  var entries: [FrameNumber: LiveEntry] = [:]
  var newest: LiveEntry?
  /// A map from each generation to the number of threads that are building its state.
  ///
  /// Each of these threads holds a verified lock on the generation.
  var building: [FrameNumber: Int] = [:]
  var appendedState: GenerationState
  var visibleState: GenerationState
  var durableState: GenerationState
  private var isDeciding = false
  /// A Boolean value that indicates whether `onLinger` has been called for a pin that may still
  /// linger.
  private var isAging = false
  var phase = Phase.active
  /// The function to call when the store has been closed and no live generation remains.
  var onUnused: (@Sendable () -> Void)?
  private var onLinger: (@Sendable () -> Void)?
  private var onExpiry: (@Sendable () -> Void)?
  private var onPin: (@Sendable () -> Void)?

  /// The phases of a table's lifetime.
  ///
  /// Generations can be pinned only in the `active` phase.
  enum Phase { case active, suspended, ended }

  package init(_ state: GenerationState, files: StoreFiles, lingers: Bool) {
    self.files = files
    self.lingers = lingers
    appendedState = state
    visibleState = state
    durableState = state
  }

  /// Sets the functions that the table calls when pins change.
  ///
  /// The table calls `pin` when a generation is locked. The table calls `linger` when the newest
  /// generation stays pinned without references, and `expiry` when an old generation is released.
  package func observe(
    pin: @escaping @Sendable () -> Void, linger: @escaping @Sendable () -> Void,
    expiry: @escaping @Sendable () -> Void
  ) {
    lock.withLock {
      onPin = pin
      onLinger = linger
      onExpiry = expiry
    }
  }

  package var appended: GenerationState { lock.withLock { appendedState } }
  /// The newest state that is known to be durable, or `nil` if there is none.
  ///
  /// The value is `nil` if another process committed the state at which this process attached or
  /// resumed, and no commit has been synced since.
  package var durable: GenerationState? {
    let state = lock.withLock { durableState }
    return state.generation <= files.counters.durable ? state : nil
  }
  package var visible: GenerationState { lock.withLock { visibleState } }

  // MARK: Pinning

  /// Pins the newest generation that any process has made visible.
  ///
  /// This is procedure P1 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Complexity: At most one system call. If another process committed the generation, the method
  ///   also reads one page for each group after the newest state known to this process.
  package func pinNewest() throws(StorageError) -> Pin {
    var attempts = Attempts()
    while true {
      let generation = files.counters.committed
      try acquireActive()
      if let entry = newest, entry.generation == generation { return share(entry) }
      if let entry = entries[generation] {
        setNewest(entry)
        return share(entry)
      }
      let isVerified: Bool
      do throws(StorageError) { isVerified = try lockAboveFloor(generation) } catch {
        lock.release()
        throw error
      }
      // If the pin is not verified, a maintenance run may have released the generation after
      // `committed` was read, so read `committed` again.
      if isVerified { return try enterLocked(generation, isNewest: true) }
      lock.release()
      try attempts.next("pin the newest generation", files.directory)
    }
  }

  @inline(__always)
  private func share(_ entry: LiveEntry) -> Pin {
    entry.references &+= 1
    entry.wasUsed = true
    let state = entry.state
    lock.release()
    return Pin(entry: entry, state: state)
  }

  /// Locks `generation`, and verifies that it can still be pinned.
  ///
  /// These are steps 3 to 5 of procedure P1.
  ///
  /// - Returns: `false` if a maintenance run may have released the generation before it was locked.
  private func lockAboveFloor(_ generation: FrameNumber) throws(StorageError) -> Bool {
    try files.locks.lockLive(generation)
    files.counters.fence()
    if files.counters.floor <= generation { return true }
    try unlock(generation)
    return false
  }

  /// Unlocks a generation whose pin was not verified, unless another thread relies on the lock.
  private func unlock(_ generation: FrameNumber) throws(StorageError) {
    if building[generation] == nil { try files.locks.unlockLive(generation) }
  }

  /// Makes `entry` the newest entry.
  ///
  /// The previous newest entry is dropped if it has no references.
  private func setNewest(_ entry: LiveEntry) {
    let old = newest
    newest = entry
    entry.wasUsed = true
    if let old, old !== entry, old.references == 0 { drop(old) }
  }

  /// Pins a generation that another owner holds or that no maintenance run has released yet.
  ///
  /// This is procedure P3 of `Docs/Internals/Concurrency.md`.
  ///
  /// - Throws: `generationExpired` if a maintenance run has decided that the generation is dead, or
  ///   if the generation was never a commit. Throws `busy` if a run takes longer than `busyTimeout`
  ///   to decide.
  /// - Complexity: One system call. If the generation's state is not in memory, also reads the
  ///   group headers of the log.
  package func pin(_ generation: FrameNumber) throws(StorageError) -> Pin {
    // Read the clock only when a wait begins, because most calls do not wait.
    var start: UInt64?
    while true {
      try acquireActive()
      if let entry = entries[generation] { return share(entry) }
      let hasDecided: Bool
      do throws(StorageError) { hasDecided = try lockIfDecided(generation) } catch {
        lock.release()
        throw error
      }
      if !hasDecided {
        // Release the table's lock during the wait, because a thread that performs the maintenance
        // run may need the lock.
        lock.wait(milliseconds: 1)
        lock.release()
        let since = start ?? SystemThread.monotonicMilliseconds
        start = since
        try requireDecision(since: since)
        continue
      }
      return try enterLocked(generation, isNewest: false)
    }
  }

  /// Throws `busy` if more than `busyTimeout` has passed since `clock`.
  private func requireDecision(since clock: UInt64) throws(StorageError) {
    guard let limit = files.busyMilliseconds,
      SystemThread.monotonicMilliseconds - clock >= limit
    else { return }
    throw StorageError(
      .busy,
      "A maintenance run has taken longer than `busyTimeout` to decide which generations remain "
        + "readable. If a process that has the store open is suspended, resume or end it. Then try "
        + "again.",
      file: files.directory)
  }

  /// Locks `generation` if the last maintenance run has decided to keep it alive.
  ///
  /// These are steps 3 to 6 of procedure P3.
  ///
  /// - Returns: `false` while a maintenance run is deciding which generations are dead.
  /// - Throws: `generationExpired` if the generation is dead or was never a commit.
  private func lockIfDecided(_ generation: FrameNumber) throws(StorageError) -> Bool {
    let counters = files.counters
    guard generation <= counters.committed else { throw Self.expired(generation) }
    try files.locks.lockLive(generation)
    counters.fence()
    let epoch = counters.epoch
    var isAlive = false
    var isDecided = isDeciding ? false : try !hasDecider(epoch)
    if isDecided {
      isAlive = counters.decision.isAlive(generation)
      isDecided = counters.epoch == epoch
    }
    if isDecided, isAlive { return true }
    try unlock(generation)
    guard isDecided else { return false }
    throw Self.expired(generation)
  }

  /// Returns whether a maintenance run in another live process is deciding which generations are
  /// dead.
  private func hasDecider(_ epoch: UInt64) throws(StorageError) -> Bool {
    guard epoch % 2 == 1 else { return false }
    return try files.locks.isLockedElsewhere(byte: LockByte.maintenance)
  }

  /// Pins a generation whose lock has been verified, building the generation's state if necessary.
  ///
  /// The caller must hold the table's lock, which this method releases.
  private func enterLocked(_ generation: FrameNumber, isNewest: Bool) throws(StorageError) -> Pin {
    building[generation, default: 0] += 1
    let notify = onPin
    lock.release()
    notify?()
    let built = Result { () throws(StorageError) in try state(at: generation) }
    lock.acquire()
    var onUnused: (@Sendable () -> Void)?
    defer {
      lock.release()
      onUnused?()
    }
    let others = (building[generation] ?? 1) - 1
    building[generation] = others == 0 ? nil : others
    switch built {
    case .failure(let error):
      if others == 0, entries[generation] == nil { try? files.locks.unlockLive(generation) }
      onUnused = takeOnUnused()
      throw error
    case .success(let state):
      if isNewest, state.generation > visibleState.generation { visibleState = state }
      let entry = entries[generation] ?? LiveEntry(state)
      entry.references += 1
      entries[generation] = entry
      if isNewest, generation == visibleState.generation { setNewest(entry) }
      return Pin(entry: entry, state: entry.state)
    }
  }

  /// Returns the state of a generation.
  ///
  /// If the state is not in memory, the method builds it from the nearest known state or from the
  /// files.
  ///
  /// The caller must hold the maintenance lock or a verified pin on the generation. For the newest
  /// appended generation, the writer lock suffices.
  package func state(at generation: FrameNumber) throws(StorageError) -> GenerationState {
    let known = lock.withLock { [visibleState, durableState, appendedState] }
    if let state = known.first(where: { $0.generation == generation }) { return state }
    let older = known.filter { $0.generation < generation }.max { $0.generation < $1.generation }
    if let older, let state = try files.advanced(older, to: generation) { return state }
    return try files.state(at: generation)
  }

  private static func expired(_ generation: FrameNumber) -> StorageError {
    StorageError(
      .generationExpired,
      "Generation \(generation) is no longer readable, or was never committed in this store. Use "
        + "another generation. To keep a generation readable, hold a snapshot of it or give it a "
        + "name.")
  }

  /// Releases one reference to a generation.
  ///
  /// This is procedure P4 of `Docs/Internals/Concurrency.md`.
  package func unpin(_ entry: LiveEntry) {
    lock.acquire()
    entry.references &-= 1
    if entry.references > 0 || entry.isOver {
      lock.release()
      return
    }
    let isNewest = entry === newest
    if isNewest, lingers {
      let notify = isAging ? nil : onLinger
      isAging = true
      lock.release()
      notify?()
      return
    }
    drop(entry)
    let notify = onExpiry
    let onUnused = takeOnUnused()
    lock.release()
    notify?()
    onUnused?()
  }

  /// Removes an entry that has no references, and unlocks its generation.
  ///
  /// If unlocking fails, the only effect is that the generation's log space remains in use.
  func drop(_ entry: LiveEntry) {
    entries[entry.generation] = nil
    if entry === newest { newest = nil }
    if building[entry.generation] == nil { try? files.locks.unlockLive(entry.generation) }
  }

  /// Drops the lingering pin if it has not been used since the previous call to this method.
  ///
  /// - Returns: `true` if a pin still lingers.
  package func ageLingeringPin() -> Bool {
    lock.withLock {
      isAging = false
      guard let entry = newest, entry.references == 0 else { return false }
      if entry.wasUsed {
        entry.wasUsed = false
        isAging = true
        return true
      }
      drop(entry)
      return false
    }
  }

  /// Drops the lingering pin, and prevents later pins from lingering.
  ///
  /// Call this method when the store is closed, because nothing would drop a lingering pin
  /// afterwards.
  package func stopLingering() {
    lock.withLock {
      lingers = false
      if let entry = newest, entry.references == 0 { drop(entry) }
    }
  }

  // MARK: Deciding

  /// Records whether a maintenance run in this process is deciding which generations are dead.
  ///
  /// While a run is deciding, ``pin(_:)`` waits.
  package func setDeciding(_ isDeciding: Bool) {
    lock.withLock {
      self.isDeciding = isDeciding
      if !isDeciding { lock.wakeAll() }
    }
  }
}
