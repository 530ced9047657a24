import Synchronization

/// The stores that are open in this process.
///
/// A store has one entry, however often and through whichever paths it was opened. The exception is
/// a store that was opened first for reading only and later for writing, which has two entries.
final class StoreRegistry: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `stores`.

  /// The identity of an open store.
  ///
  /// `Store` objects with the same key share their state.
  struct Key: Hashable {
    let domain: ObjectIdentifier
    let file: FileIdentity
    let isReadOnly: Bool
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

  // Use an unmanaged reference, because a registry is never freed.
  private static let current = Atomic<Unmanaged<StoreRegistry>?>(nil)
  private let origin = ProcessOrigin()
  private let lock = Lock()
  private var stores: [Key: State] = [:]

  /// Returns the core of a store and the key of its entry.
  ///
  /// If the store is not open yet, the method opens it with `make`.
  ///
  /// Each call must be balanced by ``leave(_:)``. A read-only `Store` can share a writable core.
  func enter(
    _ wanted: Key, _ make: () throws(StorageError) -> StoreCore
  ) throws(StorageError) -> (StoreCore, Key) {
    lock.acquire()
    defer { lock.release() }
    let writing = Key(domain: wanted.domain, file: wanted.file, isReadOnly: false)
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

  /// Replaces and returns the core of a store, unless `make` returns `nil` for the current core.
  func renew(
    _ key: Key, _ make: (StoreCore) throws(StorageError) -> StoreCore?
  ) throws(StorageError) -> StoreCore {
    try lock.withLock { () throws(StorageError) in
      guard case .open(let core, let count) = stores[key] else {
        throw .closed()
      }
      guard let new = try make(core) else { return core }
      stores[key] = .open(new, count: count)
      return new
    }
  }

  /// Records that a `Store` object no longer uses its core.
  ///
  /// - Returns: The core if the object was its last user, or `nil` otherwise. The caller must shut
  ///   down the returned core.
  func leave(_ key: Key) -> StoreCore? {
    lock.withLock {
      guard case .open(let core, let count) = stores[key] else { return nil }
      stores[key] = count == 1 ? nil : .open(core, count: count - 1)
      return count == 1 ? core : nil
    }
  }
}

extension StorageError {
  /// Returns the error for a call on a closed store.
  static func closed(_ directory: String? = nil) -> StorageError {
    StorageError(
      .closed, "The store has been closed. Open the store again.", file: directory)
  }
}
