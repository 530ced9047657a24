import Synchronization

/// The stores that are open in this process.
///
/// A store has one entry, no matter how often or through which paths it was opened. The exception
/// is a store that was opened first for reading only and later for writing, which has two entries.
final class StoreRegistry: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `stores`, `ended` and `changing`, the only mutable
  // properties.

  /// The identity of an open store.
  ///
  /// `Store` objects with the same key share their state.
  struct Key: Hashable {
    let domain: ObjectIdentifier
    let file: FileIdentity
    let isReadOnly: Bool

    /// The key of the store's writable entry.
    var forWriting: Key { Key(domain: domain, file: file, isReadOnly: false) }

    func isOfSameStore(as other: Key) -> Bool { forWriting == other.forWriting }
  }

  private enum State {
    /// A thread is opening the store. Other threads wait until that thread has finished.
    case opening
    case open(StoreCore, count: Int)
  }

  /// The registry of this process.
  ///
  /// A child process created by `fork` has its own registry.
  static var ofThisProcess: StoreRegistry {
    while true {
      let known = current.load(ordering: .acquiring)
      let registry = known?.takeUnretainedValue()
      if let registry, !registry.origin.isInherited { return registry }
      let made = Unmanaged.passRetained(StoreRegistry())
      if current.compareExchange(
        expected: known, desired: made, ordering: .acquiringAndReleasing
      ).exchanged {
        return made.takeUnretainedValue()
      }
      made.release()
    }
  }

  // Use an unmanaged reference, because `Atomic` cannot contain a strong one. A registry is never
  // freed.
  private static let current = Atomic<Unmanaged<StoreRegistry>?>(nil)
  private let origin = ProcessOrigin()
  private let lock = Lock()
  private var stores: [Key: State] = [:]
  /// The cores that are no longer used by any `Store` object, but may still hold locks.
  ///
  /// Each of them is still running its final checkpoint, or snapshots still hold its generations.
  private var ended: [(key: Key, core: StoreCore)] = []
  /// The stores that threads are suspending or resuming, identified by the keys of their writable
  /// entries.
  private var changing: Set<Key> = []

  /// Returns the core of the store that `wanted` identifies, and the key of the store's entry.
  ///
  /// If the store is not open yet, the method opens it with `make`.
  ///
  /// Each call must be balanced by ``leave(_:)``. A read-only `Store` can share a writable core.
  func enter(
    _ wanted: Key, _ make: () throws(StorageError) -> StoreCore
  ) throws(StorageError) -> (StoreCore, Key) {
    lock.acquire()
    defer { lock.release() }
    let writing = wanted.forWriting
    while case .opening = stores[writing] { lock.wait() }
    let key = stores[writing] == nil ? wanted : writing
    while case .opening = stores[key] { lock.wait() }
    if case .open(let core, let count) = stores[key] {
      stores[key] = .open(core, count: count + 1)
      return (core, key)
    }
    stores[key] = .opening
    lock.release()
    let made = Result(catching: make)
    lock.acquire()
    lock.wakeAll()
    switch made {
    case .success(let core): stores[key] = .open(core, count: 1)
    case .failure: stores[key] = nil
    }
    return (try made.get(), key)
  }

  func core(at key: Key) -> StoreCore? {
    lock.withLock {
      guard case .open(let core, _) = stores[key] else { return nil }
      return core
    }
  }

  /// Replaces a store's core with the result of `make`, unless `make` returns `nil` for the current
  /// core.
  ///
  /// - Returns: The current core, and the replaced core if there is one. The caller must shut down
  ///   the replaced core.
  func renew(
    _ key: Key, _ make: (StoreCore) throws(StorageError) -> StoreCore?
  ) throws(StorageError) -> (current: StoreCore, replaced: StoreCore?) {
    try lock.withLock { () throws(StorageError) in
      guard case .open(let core, let count) = stores[key] else {
        throw .closed()
      }
      guard let new = try make(core) else { return (core, nil) }
      stores[key] = .open(new, count: count)
      ended.append((key, core))
      return (new, core)
    }
  }

  /// Records that a `Store` object no longer uses its core.
  ///
  /// - Returns: The core if the object was its last user, or `nil` otherwise. The caller must shut
  ///   down the returned core.
  func leave(_ key: Key) -> StoreCore? {
    lock.withLock {
      guard case .open(let core, let count) = stores[key] else { return nil }
      guard count == 1 else {
        stores[key] = .open(core, count: count - 1)
        return nil
      }
      stores[key] = nil
      ended.append((key, core))
      return core
    }
  }

  /// Removes a core that has been shut down and no longer holds any locks.
  func forget(_ core: ObjectIdentifier) {
    let forgotten = lock.withLock {
      let index = ended.firstIndex { ObjectIdentifier($0.core) == core }
      return index.map { ended.remove(at: $0) }
    }
    // Release the core outside the lock, because its deinitialiser may take time.
    withExtendedLifetime(forgotten) {}
  }

  // MARK: Suspension

  /// Waits until no other thread is suspending or resuming the given store, and prevents other
  /// threads from doing so.
  ///
  /// Each call must be balanced by ``endChange(of:)``. Threads that suspend or resume different
  /// stores do not wait for each other.
  ///
  /// - Throws: `busy` if the deadline has passed.
  func beginChange(of key: Key, until deadline: UInt64) throws(StorageError) {
    try lock.withLock { () throws(StorageError) in
      while !changing.insert(key.forWriting).inserted {
        guard lock.wait(until: deadline) else { throw Suspensions.busy }
      }
    }
  }

  func endChange(of key: Key) {
    lock.withLock {
      changing.remove(key.forWriting)
      lock.wakeAll()
    }
  }

  /// Returns the cores of a store that are in use by `Store` objects.
  func cores(of key: Key) -> [StoreCore] { lock.withLock { openCores(of: key) } }

  /// Requests that all cores of a store interrupt their maintenance, and returns the cores.
  ///
  /// From then on, no core is replaced. The caller must suspend all the cores or withdraw the
  /// requests.
  ///
  /// - Throws: `busy` if another thread has not finished opening the store by the deadline.
  func requestSuspension(
    of key: Key, until deadline: UInt64
  ) throws(StorageError) -> [StoreCore] {
    try lock.withLock { () throws(StorageError) in
      while isOpening(key) {
        guard lock.wait(until: deadline) else { throw Suspensions.busy }
      }
      let cores =
        openCores(of: key) + ended.filter { $0.key.isOfSameStore(as: key) }.map(\.core)
      for core in cores { core.files.suspensions.request() }
      return cores
    }
  }

  private func isOpening(_ key: Key) -> Bool {
    stores.contains { other, state in
      guard case .opening = state else { return false }
      return other.isOfSameStore(as: key)
    }
  }

  private func openCores(of key: Key) -> [StoreCore] {
    stores.compactMap { other, state in
      guard case .open(let core, _) = state, other.isOfSameStore(as: key) else { return nil }
      return core
    }
  }
}
