/// The live generations of this process, and the newest states.
///
/// Generation → references and one lock byte: the lock call happens on 0 → 1 and 1 → 0 only. The
/// lock of this table is held from the lock call to the check that verifies a pin, so that no other
/// thread shares an unverified one. Steps are numbered as in `Docs/Internals/Concurrency.md`.
package final class GenerationTable: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  let files: StoreFiles
  /// Whether the newest generation stays pinned for a while after its last use.
  private let lingers: Bool
  let lock = Lock()
  var entries: [FrameNumber: LiveEntry] = [:]
  var newest: LiveEntry?
  /// The number of threads that have a verified lock on a generation and are building its state.
  var building: [FrameNumber: Int] = [:]
  var appendedState: GenerationState
  var visibleState: GenerationState
  var durableState: GenerationState
  private var isDeciding = false
  /// Whether the code that ages the lingering pin has been notified of one.
  private var isAging = false
  var suspended = false
  private var onLinger: (@Sendable () -> Void)?
  private var onExpiry: (@Sendable () -> Void)?
  private var onPin: (@Sendable () -> Void)?

  package init(_ state: GenerationState, files: StoreFiles, lingers: Bool) {
    self.files = files
    self.lingers = lingers
    appendedState = state
    visibleState = state
    durableState = state
  }

  /// Sets the observers: called when a generation is locked, when a pin starts to linger, and when
  /// an old generation expires.
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
  package var durable: GenerationState { lock.withLock { durableState } }
  package var visible: GenerationState { lock.withLock { visibleState } }

  // MARK: Pinning

  /// P1: pins the newest visible generation, of any process.
  ///
  /// - Complexity: No system call if this process has pinned it already, else one; if another
  ///   process committed it, one page read for each group since the newest known here.
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
      // Otherwise a maintenance run has started between load and check: the newest generation is at
      // its floor.
      if isVerified { return try enterLocked(generation, isNewest: true) }
      lock.release()
      try attempts.next("pin the newest generation", files.directory)
    }
  }

  /// Adds a reference to a generation; releases the lock of the table.
  @inline(__always)
  private func share(_ entry: LiveEntry) -> Pin {
    entry.references &+= 1
    entry.wasUsed = true
    let state = entry.state
    lock.release()
    return Pin(entry: entry, state: state)
  }

  /// Steps 3 to 5 of P1.
  private func lockAboveFloor(_ generation: FrameNumber) throws(StorageError) -> Bool {
    try files.locks.lockLive(generation)
    files.counters.fence()
    if files.counters.floor <= generation { return true }
    try unlock(generation)
    return false
  }

  /// Releases the lock of a generation that was not verified, unless another thread relies on it.
  private func unlock(_ generation: FrameNumber) throws(StorageError) {
    if building[generation] == nil { try files.locks.unlockLive(generation) }
  }

  /// Makes an entry the lingering one; drops the previous one if it has no references.
  private func setNewest(_ entry: LiveEntry) {
    let old = newest
    newest = entry
    entry.wasUsed = true
    if let old, old !== entry, old.references == 0 { drop(old) }
  }

  /// P3: pins a given generation, which another owner holds or which no maintenance run has
  /// released yet.
  ///
  /// - Throws: `generationExpired` if a maintenance run has decided that it is dead, or if it was
  ///   never a commit; `busy` if a run has been deciding for longer than `busyTimeout`.
  /// - Complexity: One system call; reads the group headers of the log if no state of it is in
  ///   memory.
  package func pin(_ generation: FrameNumber) throws(StorageError) -> Pin {
    // The clock is read only if there is a wait.
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
        // The lock of the table must not be held during the wait: the deciding thread needs it.
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

  /// - Throws: `busy` if a maintenance run has been deciding for longer than `busyTimeout`: its
  ///   process may be suspended.
  private func requireDecision(since clock: UInt64) throws(StorageError) {
    guard let limit = files.busyMilliseconds,
      SystemThread.monotonicMilliseconds - clock >= limit
    else { return }
    throw StorageError(
      .busy,
      "A maintenance run has taken longer than `busyTimeout` to decide which generations stay "
        + "readable. Check whether a process that has the store open is suspended.",
      file: files.directory)
  }

  /// Steps 3 to 6 of P3; false while a maintenance run is deciding.
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

  /// Returns whether a maintenance run of another process is deciding: one that died meanwhile has
  /// decided nothing.
  private func hasDecider(_ epoch: UInt64) throws(StorageError) -> Bool {
    guard epoch % 2 == 1 else { return false }
    return try files.locks.isLockedElsewhere(byte: LockByte.maintenance)
  }

  /// Adds a generation whose lock is verified: from here on no maintenance run releases it.
  ///
  /// It builds the state without the table's lock, which is held on entry and not on return.
  private func enterLocked(_ generation: FrameNumber, isNewest: Bool) throws(StorageError) -> Pin {
    building[generation, default: 0] += 1
    let notify = onPin
    lock.release()
    notify?()
    let built = Result { () throws(StorageError) in try state(at: generation) }
    lock.acquire()
    defer { lock.release() }
    let others = (building[generation] ?? 1) - 1
    building[generation] = others == 0 ? nil : others
    switch built {
    case .failure(let error):
      if others == 0, entries[generation] == nil { try? files.locks.unlockLive(generation) }
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

  /// Returns the state of a generation: a known one, or one read from the files, starting at the
  /// nearest known one.
  ///
  /// Requires a verified pin of it, the writer lock if it is the newest appended one, or the
  /// maintenance lock.
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
      "Generation \(generation) is no longer live, or was never a commit of this store. Hold a "
        + "snapshot of it, or keep it under a name, for as long as it is needed.")
  }

  /// P4: releases one reference.
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
    lock.release()
    notify?()
  }

  /// Ends an entry without references.
  ///
  /// A failing unlock only retains log space.
  func drop(_ entry: LiveEntry) {
    entries[entry.generation] = nil
    if entry === newest { newest = nil }
    if building[entry.generation] == nil { try? files.locks.unlockLive(entry.generation) }
  }

  /// Drops the lingering pin if it was not used since the last call; true while one lingers.
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

  /// Drops the lingering pin at once.
  package func dropLingeringPin() {
    lock.withLock {
      if let entry = newest, entry.references == 0 { drop(entry) }
    }
  }

  // MARK: Deciding

  /// Marks the period in which a maintenance run of this process decides; pins by generation wait
  /// for its end.
  package func setDeciding(_ isDeciding: Bool) {
    lock.withLock {
      self.isDeciding = isDeciding
      if !isDeciding { lock.wakeAll() }
    }
  }
}
