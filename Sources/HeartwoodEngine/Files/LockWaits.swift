/// A record of the threads in this process that are waiting, without a timeout, for another process
/// to release a lock.
package final class LockWaits: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards every property declared after it.
  private let lock = Lock()
  private var waits: [UInt64: Wait] = [:]
  private var lastWaitID: UInt64 = 0

  /// A wait that is still in progress.
  package struct Wait: Sendable {
    package let byte: UInt64
    /// The time at which the wait started, in milliseconds on the monotonic clock.
    package let since: UInt64
  }

  package init() {}

  /// Runs `body`, which waits for a lock on `byte`, and records the wait until `body` returns.
  package func during<R>(
    _ byte: UInt64, _ body: () throws(StorageError) -> R
  ) throws(StorageError) -> R {
    let wait = Wait(byte: byte, since: SystemThread.monotonicMilliseconds)
    let id = lock.withLock {
      lastWaitID += 1
      waits[lastWaitID] = wait
      return lastWaitID
    }
    defer { lock.withLock { waits[id] = nil } }
    return try body()
  }

  /// The wait that has lasted longest, or `nil` if no thread is waiting.
  package var oldest: Wait? { lock.withLock { waits.values.min { $0.since < $1.since } } }
}
