/// A mutex for threads and processes, implemented as a lock on one byte of a file.
///
/// A byte lock belongs to the open file, so excluding other threads also requires a thread lock. A
/// read-only process can lock the byte only in shared mode.
package final class ExclusiveByte: Sendable {
  private let kind: LockKind
  private let range: Range<UInt64>
  private let file: any File
  private let timeout: UInt64?
  private let waits: LockWaits
  private let suspensions: Suspensions?
  private let gate = ThreadGate()

  /// Creates a lock on the given byte of a file.
  ///
  /// - Parameters:
  ///   - timeout: The number of milliseconds to wait for another process, or `nil` to wait without
  ///     a limit. A wait without a limit ends if a suspension is requested.
  ///   - suspensions: The store's suspension state. While the store is suspended, no thread locks
  ///     the byte.
  package init(
    _ byte: UInt64, of file: any File, isReadOnly: Bool = false, timeout: UInt64? = nil,
    waits: LockWaits = LockWaits(), suspensions: Suspensions? = nil
  ) {
    kind = isReadOnly ? .shared : .exclusive
    range = byte..<byte + 1
    self.file = file
    self.timeout = timeout
    self.waits = waits
    self.suspensions = suspensions
  }

  /// Runs `body` while holding the lock.
  ///
  /// - Throws: `busy` if the timeout expires before `body` runs, `suspended` if the store has been
  ///   suspended, or any error that `body` throws.
  package func withLock<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    try excludingThreads(until: nil) { () throws(StorageError) in
      // The store may have been suspended while this thread waited for another thread.
      try suspensions?.requireActive()
      try waitForByte()
      let result = Result(catching: body)
      _ = try file.lock(.none, range)
      return try result.get()
    }
  }

  /// Runs `body` while no other thread of this process holds the lock, without locking the byte.
  ///
  /// - Parameter deadline: The time at which to stop waiting, in milliseconds on the monotonic
  ///   clock, or `nil` to wait without a limit.
  /// - Throws: `busy` if the deadline passes before `body` runs, or any error that `body` throws.
  func excludingThreads<R>(
    until deadline: UInt64?, _ body: () throws(StorageError) -> R
  ) throws(StorageError) -> R {
    assert(LockOrder.enter(range.lowerBound, of: file), "A thread requested locks out of order.")
    defer { assert(LockOrder.leave(range.lowerBound, of: file)) }
    guard gate.acquire(until: deadline) else { throw Suspensions.busy }
    defer { gate.release() }
    return try body()
  }

  private func waitForByte() throws(StorageError) {
    guard timeout == nil else { return try poll() }
    try waits.during(range.lowerBound, poll)
  }

  /// Locks the byte, polling until the lock is available.
  ///
  /// The method does not wait in the kernel's queue, because the kernel could then grant the lock
  /// while the process is suspended.
  private func poll() throws(StorageError) {
    let clock = SystemThread.monotonicMilliseconds
    var pause: UInt64 = 20
    while try !file.lock(kind, range) {
      if let timeout {
        guard SystemThread.monotonicMilliseconds - clock < timeout else {
          throw StorageError(
            .busy,
            "Another process has held one of the store's locks for longer than `busyTimeout`. If a "
              + "process that has the store open is suspended, resume or end it. Then try again.",
            file: file.path)
        }
      } else {
        try suspensions?.requireNoRequest()
      }
      SystemThread.sleep(microseconds: pause)
      pause = min(pause * 2, timeout == nil ? Self.longestUnlimitedPause : Self.longestPause)
    }
  }

  /// The longest pause between two attempts, in microseconds.
  private static let longestPause: UInt64 = 1000
  /// The longest pause between two attempts during a wait without a limit, in microseconds.
  ///
  /// Such a wait may last for hours.
  private static let longestUnlimitedPause: UInt64 = 10_000
}
