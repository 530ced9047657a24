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
  private let lock = Lock()

  /// Creates a lock on the given byte of a file.
  ///
  /// - Parameter timeout: The number of milliseconds to wait for another process, or `nil` to wait
  ///   without a limit.
  package init(
    _ byte: UInt64, of file: any File, isReadOnly: Bool = false, timeout: UInt64? = nil,
    waits: LockWaits = LockWaits()
  ) {
    kind = isReadOnly ? .shared : .exclusive
    range = byte..<byte + 1
    self.file = file
    self.timeout = timeout
    self.waits = waits
  }

  /// Runs `body` while holding the lock.
  ///
  /// - Parameter timeout: The number of milliseconds to wait for another process, or `nil` to wait
  ///   without a limit. A timeout that was passed to the initialiser takes precedence.
  /// - Throws: `busy` if the timeout expires before `body` runs, or any error that `body` throws.
  package func withLock<R>(
    timeout: UInt64? = nil, _ body: () throws(StorageError) -> R
  ) throws(StorageError) -> R {
    assert(LockOrder.enter(range.lowerBound, of: file), "A thread requested locks out of order.")
    defer { assert(LockOrder.leave(range.lowerBound, of: file)) }
    lock.acquire()
    defer { lock.release() }
    try waitForByte(self.timeout ?? timeout)
    let result = Result(catching: body)
    _ = try file.lock(.none, range)
    return try result.get()
  }

  private func waitForByte(_ timeout: UInt64?) throws(StorageError) {
    guard let timeout else {
      return try waits.during(range.lowerBound) { () throws(StorageError) in
        try file.waitForLock(kind, range)
      }
    }
    let clock = SystemThread.monotonicMilliseconds
    var pause: UInt64 = 20
    while try !file.lock(kind, range) {
      guard SystemThread.monotonicMilliseconds - clock < timeout else {
        throw StorageError(
          .busy,
          "Another process has held one of the store's locks for longer than `busyTimeout`. If a "
            + "process that has the store open is suspended, resume or end it. Then try again.",
          file: file.path)
      }
      SystemThread.sleep(microseconds: pause)
      pause = min(pause * 2, 1000)
    }
  }
}
