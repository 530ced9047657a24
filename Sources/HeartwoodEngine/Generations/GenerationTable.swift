/// One live generation in this process: its state, its references, its lock.
///
/// Guarded by the lock of the table it belongs to.
package final class LiveEntry: @unchecked Sendable {
  // @unchecked because every field but the constant one is read and written under the table's lock.
  package let generation: FrameNumber
  fileprivate(set) var state: GenerationState
  fileprivate(set) var references = 1
  fileprivate var wasUsed = true

  fileprivate init(_ state: GenerationState) {
    generation = state.generation
    self.state = state
  }
}

/// A reference to a live generation, and the state to read it through.
package struct Pin: Sendable {
  package let entry: LiveEntry
  package let state: GenerationState
}

/// The live generations of this process, and the newest states.
///
/// Generation → references and one lock byte: the lock call happens on 0 → 1 and 1 → 0 only. The
/// lock of this table is held from the lock call to the check that makes a pin verified, so that no
/// other thread ever joins a tentative one. Steps are numbered as in `Docs/Concurrency.md`.
package final class GenerationTable: @unchecked Sendable {
  // @unchecked because everything below `lock` is guarded by it.
  private let files: StoreFiles
  /// Whether the newest generation stays pinned for a while after its last use.
  private let lingers: Bool
  private let lock = Lock()
  private var entries: [FrameNumber: LiveEntry] = [:]
  private var newest: LiveEntry?
  /// Threads that have a verified lock on a generation and are finding its state.
  private var building: [FrameNumber: Int] = [:]
  private var appendedState: GenerationState
  private var visibleState: GenerationState
  private var durableState: GenerationState
  private var isDeciding = false
  private var onLinger: (@Sendable () -> Void)?
  private var onExpiry: (@Sendable () -> Void)?

  package init(_ state: GenerationState, files: StoreFiles, lingers: Bool) {
    self.files = files
    self.lingers = lingers
    appendedState = state
    visibleState = state
    durableState = state
  }

  /// Sets who is told when a pin starts to linger, and when an old generation expires.
  package func observe(
    linger: @escaping @Sendable () -> Void, expiry: @escaping @Sendable () -> Void
  ) {
    lock.withLock {
      onLinger = linger
      onExpiry = expiry
    }
  }

  package var appended: GenerationState { lock.withLock { appendedState } }
  package var durable: GenerationState { lock.withLock { durableState } }
  package var visible: GenerationState { lock.withLock { visibleState } }

  // MARK: Pinning

  /// P1: pins the newest visible generation.
  ///
  /// - Complexity: No system call if this process has it pinned already, else one.
  package func pinNewest() throws(StorageError) -> Pin {
    while true {
      lock.acquire()
      if let entry = newest {
        entry.references &+= 1
        entry.wasUsed = true
        let state = entry.state
        lock.release()
        return Pin(entry: entry, state: state)
      }
      defer { lock.release() }
      let state = visibleState
      if let entry = entries[state.generation] {
        newest = entry
        entry.references += 1
        return Pin(entry: entry, state: entry.state)
      }
      try files.locks.lockLive(state.generation)
      files.words.fence()
      if files.words.floor <= state.generation {
        let entry = LiveEntry(state)
        entries[state.generation] = entry
        newest = entry
        return Pin(entry: entry, state: state)
      }
      // A pass has begun between the load and the check: the newest generation is at its floor.
      try files.locks.unlockLive(state.generation)
    }
  }

  /// P3: pins a given generation, which somebody else holds or which no pass has given up yet.
  ///
  /// - Throws: `generationExpired` if a pass has decided that it is dead, or if it never was a
  ///   commit.
  /// - Complexity: One system call; reads the group headers of the log if no state of it is here.
  package func pin(_ generation: FrameNumber) throws(StorageError) -> Pin {
    while true {
      lock.acquire()
      if let entry = entries[generation] {
        entry.references += 1
        entry.wasUsed = true
        let state = entry.state
        lock.release()
        return Pin(entry: entry, state: state)
      }
      let hasDecided: Bool
      do throws(StorageError) { hasDecided = try lockIfDecided(generation) } catch {
        lock.release()
        throw error
      }
      if !hasDecided {
        // Never waited for while holding the table: the deciding thread needs it.
        lock.wait(milliseconds: 1)
        lock.release()
        continue
      }
      // Verified: from here on no pass gives it up. Its state is found without the table's lock.
      let known = [visibleState, durableState, appendedState].first {
        $0.generation == generation
      }
      building[generation, default: 0] += 1
      lock.release()
      return try enter(generation, known)
    }
  }

  /// Steps 3 to 6 of P3; false while a pass is deciding.
  private func lockIfDecided(_ generation: FrameNumber) throws(StorageError) -> Bool {
    guard generation <= files.words.committed else { throw Self.expired(generation) }
    try files.locks.lockLive(generation)
    files.words.fence()
    if isDeciding {
      try files.locks.unlockLive(generation)
      return false
    }
    guard files.words.decision.isAlive(generation) else {
      try files.locks.unlockLive(generation)
      throw Self.expired(generation)
    }
    return true
  }

  /// Finds the state of a generation whose byte is locked, and enters it into the table.
  private func enter(
    _ generation: FrameNumber, _ known: GenerationState?
  ) throws(StorageError) -> Pin {
    let built: Result<GenerationState, StorageError>
    do throws(StorageError) {
      if let known {
        built = .success(known)
      } else {
        built = .success(try files.state(at: generation))
      }
    } catch {
      built = .failure(error)
    }
    lock.acquire()
    defer { lock.release() }
    let others = (building[generation] ?? 1) - 1
    building[generation] = others == 0 ? nil : others
    switch built {
    case .failure(let error):
      if others == 0, entries[generation] == nil { try? files.locks.unlockLive(generation) }
      throw error
    case .success(let state):
      if let entry = entries[generation] {
        entry.references += 1
        return Pin(entry: entry, state: entry.state)
      }
      let entry = LiveEntry(state)
      entries[generation] = entry
      return Pin(entry: entry, state: state)
    }
  }

  private static func expired(_ generation: FrameNumber) -> StorageError {
    StorageError(
      .generationExpired,
      "Generation \(generation) is no longer live, or never was a commit of this store. Keep a "
        + "snapshot of it, or keep it by name, for as long as it is needed.")
  }

  /// P4: gives back one reference.
  package func unpin(_ entry: LiveEntry) {
    lock.acquire()
    entry.references &-= 1
    if entry.references > 0 {
      lock.release()
      return
    }
    let isNewest = entry === newest
    if isNewest, lingers {
      let notify = onLinger
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
  /// An unlock that fails keeps log space, nothing else.
  private func drop(_ entry: LiveEntry) {
    entries[entry.generation] = nil
    if entry === newest { newest = nil }
    if building[entry.generation] == nil { try? files.locks.unlockLive(entry.generation) }
  }

  /// Drops the lingering pin if it was not used since the last call; true while one lingers.
  package func ageLingeringPin() -> Bool {
    lock.withLock {
      guard let entry = newest, entry.references == 0 else { return false }
      if entry.wasUsed {
        entry.wasUsed = false
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

  // MARK: Publishing

  /// W1.6: the state every later writer builds on; under the writer lock.
  package func publishAppended(_ state: GenerationState) {
    files.words.store(state.generation, CountersLayout.appended)
    lock.withLock { appendedState = state }
  }

  /// Makes a state the one that new readers see, unless a newer one is visible already.
  package func publishVisible(_ state: GenerationState) {
    files.words.raise(CountersLayout.committed, to: state.generation)
    lock.withLock {
      guard state.generation > visibleState.generation else { return }
      visibleState = state
      guard let old = newest else { return }
      newest = nil
      if old.references == 0 { drop(old) }
    }
  }

  /// Notes that a state is synced.
  ///
  /// After ``publishVisible(_:)``, never before: a death in between
  /// must not leave a floor above every visible generation.
  package func publishDurable(_ state: GenerationState) {
    files.words.raise(CountersLayout.durable, to: state.generation)
    lock.withLock {
      if state.generation > durableState.generation { durableState = state }
    }
  }

  /// Exchanges the newest states for copies that no longer need the log up to `backfilled`, nor
  /// the segments that are gone: the space of one returns when nobody has it open.
  ///
  /// Under the writer lock, so that nothing is appended meanwhile. Snapshots keep what they have.
  package func prune(
    backfilled: FrameNumber, gone: Set<UInt64>
  ) throws(StorageError) {
    let (appended, visible, durable) = lock.withLock {
      (appendedState, visibleState, durableState)
    }
    let newAppended = try appended.pruned(backfilled: backfilled, gone: gone, files: files)
    let newDurable =
      durable.generation == appended.generation
      ? newAppended
      : try durable.pruned(backfilled: backfilled, gone: gone, files: files)
    var newVisible = visible.generation == durable.generation ? newDurable : newAppended
    if newVisible.generation != visible.generation {
      newVisible = try visible.pruned(backfilled: backfilled, gone: gone, files: files)
    }
    lock.withLock {
      appendedState = newAppended
      if durableState === durable { durableState = newDurable }
      if visibleState === visible { visibleState = newVisible }
      if let entry = newest, entry.generation == newVisible.generation {
        entry.state = newVisible
      }
    }
  }

  // MARK: Deciding

  /// Marks the time in which a pass of this process decides; pins by generation wait for its end.
  package func setDeciding(_ isDeciding: Bool) {
    lock.withLock {
      self.isDeciding = isDeciding
      if !isDeciding { lock.wakeAll() }
    }
  }

  /// The states live in this process, by generation.
  package var liveStates: [FrameNumber: GenerationState] {
    lock.withLock { entries.mapValues(\.state) }
  }

  /// The page count of the largest state that is read or built on in this process.
  package var greatestPageCount: PageNumber {
    lock.withLock {
      entries.values.reduce(
        max(
          appendedState.point.pageCount, visibleState.point.pageCount,
          durableState.point.pageCount)
      ) { max($0, $1.state.point.pageCount) }
    }
  }

  /// Generations whose byte this process holds, with or without a state yet.
  package var lockedGenerations: Set<FrameNumber> {
    lock.withLock { Set(entries.keys).union(building.keys) }
  }

  /// Whether this process holds a generation that is not the newest.
  package var holdsOldGenerations: Bool {
    lock.withLock { entries.count > (newest == nil ? 0 : 1) || !building.isEmpty }
  }

  /// Generations with the number of references to each.
  package var liveReferences: [FrameNumber: Int] {
    lock.withLock { entries.mapValues(\.references) }
  }
}
