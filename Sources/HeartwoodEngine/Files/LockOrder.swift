/// The locks of stores that each thread holds, so that debug builds stop at one that is asked for
/// against the order of `Docs/Concurrency.md`, whether or not another thread is in the way then.
///
/// Called from `assert` alone: release builds know nothing of it. Thread-safe.
package final class LockOrder: @unchecked Sendable {
  // @unchecked because `held` is guarded by `lock`.
  private static let ofThisProcess = LockOrder()

  /// A thread that holds one of these locks of a store asks for later ones of it only.
  private static let order = [
    LockByte.maintenance, LockByte.writer, LockByte.sync, LockByte.supply, LockByte.keep,
  ]

  private let lock = Lock()
  private var held: [UInt: [Hold]] = [:]

  private struct Hold: Equatable {
    let store: ObjectIdentifier
    let place: Int
  }

  private init() {}

  /// Notes that this thread is about to wait for a lock.
  ///
  /// - Returns: False if it holds the same one, or a later one, of this store.
  package static func enter(_ byte: UInt64, of locks: any File) -> Bool {
    guard let hold = hold(byte, locks) else { return true }
    let thread = SystemThread.current
    return ofThisProcess.lock.withLock {
      let others = ofThisProcess.held[thread] ?? []
      ofThisProcess.held[thread] = others + [hold]
      return others.allSatisfy { $0.store != hold.store || $0.place < hold.place }
    }
  }

  /// Notes that this thread has given up a lock, or waits for it no more; always true.
  package static func leave(_ byte: UInt64, of locks: any File) -> Bool {
    guard let hold = hold(byte, locks) else { return true }
    let thread = SystemThread.current
    ofThisProcess.lock.withLock {
      var holds = ofThisProcess.held[thread] ?? []
      if let place = holds.lastIndex(of: hold) { holds.remove(at: place) }
      ofThisProcess.held[thread] = holds.isEmpty ? nil : holds
    }
    return true
  }

  /// Runs `body` as if this thread held nothing: for tests in which one thread plays several.
  package static func asAnother<R>(
    _ body: () throws(StorageError) -> R
  ) throws(StorageError) -> R {
    let thread = SystemThread.current
    let order = ofThisProcess
    let holds = order.lock.withLock { order.held.removeValue(forKey: thread) }
    defer { order.lock.withLock { order.held[thread] = holds } }
    return try body()
  }

  private static func hold(_ byte: UInt64, _ locks: any File) -> Hold? {
    order.firstIndex(of: byte).map { Hold(store: ObjectIdentifier(locks), place: $0) }
  }
}
