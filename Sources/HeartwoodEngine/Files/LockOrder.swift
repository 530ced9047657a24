/// A record of the store locks that each thread holds, used by debug builds to check the lock
/// order.
///
/// A request that violates the order in `Docs/Internals/Concurrency.md` traps, even if no other
/// thread holds a conflicting lock. The methods are called only within `assert`.
package final class LockOrder: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `held`.
  private static let ofThisProcess = LockOrder()

  /// The lock bytes of a store, in the order in which a thread must request them.
  private static let order = [
    LockByte.maintenance, LockByte.writer, LockByte.sync, LockByte.allocator, LockByte.keep,
  ]

  private let lock = Lock()
  private var held: [UInt: [Hold]] = [:]

  private struct Hold: Equatable {
    let store: ObjectIdentifier
    let rank: Int
  }

  private init() {}

  /// Records that this thread is about to wait for a lock.
  ///
  /// - Returns: `true` if the lock order allows the request.
  package static func enter(_ byte: UInt64, of locks: any File) -> Bool {
    guard let hold = hold(byte, locks) else { return true }
    let thread = SystemThread.current
    return ofThisProcess.lock.withLock {
      let others = ofThisProcess.held[thread] ?? []
      ofThisProcess.held[thread] = others + [hold]
      return others.allSatisfy { $0.store != hold.store || $0.rank < hold.rank }
    }
  }

  /// Records that this thread released a lock or stopped waiting.
  ///
  /// The result is always `true`, so that `assert` can call this method.
  package static func leave(_ byte: UInt64, of locks: any File) -> Bool {
    guard let hold = hold(byte, locks) else { return true }
    let thread = SystemThread.current
    ofThisProcess.lock.withLock {
      var holds = ofThisProcess.held[thread] ?? []
      if let rank = holds.lastIndex(of: hold) { holds.remove(at: rank) }
      ofThisProcess.held[thread] = holds.isEmpty ? nil : holds
    }
    return true
  }

  /// Runs `body` as if this thread held no locks, for tests in which one thread simulates several.
  package static func asAnother<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    let thread = SystemThread.current
    let order = ofThisProcess
    let holds = order.lock.withLock { order.held.removeValue(forKey: thread) }
    defer { order.lock.withLock { order.held[thread] = holds } }
    return try body()
  }

  private static func hold(_ byte: UInt64, _ locks: any File) -> Hold? {
    order.firstIndex(of: byte).map { Hold(store: ObjectIdentifier(locks), rank: $0) }
  }
}
