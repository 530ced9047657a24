/// A mutex for the threads of one process, with an optional deadline for acquiring it.
final class ThreadGate: @unchecked Sendable {
  // `@unchecked` is safe because `lock` guards `isHeld`.
  private let lock = Lock()
  private var isHeld = false

  /// Acquires the gate, or returns `false` if another thread still holds it at the deadline.
  ///
  /// - Parameter deadline: A time in milliseconds on the monotonic clock, or `nil` to wait without
  ///   a limit.
  func acquire(until deadline: UInt64?) -> Bool {
    lock.withLock {
      while isHeld {
        guard lock.wait(until: deadline) else { return false }
      }
      isHeld = true
      return true
    }
  }

  func release() {
    lock.withLock {
      isHeld = false
      lock.wakeAll()
    }
  }
}
