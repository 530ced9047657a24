#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A mutual exclusion lock with one condition to wait for.
///
/// It is `pthread`'s behind a pointer, because the thread sanitizer understands that one, and
/// because it can wait for a limited time.
///
/// - Note: `@unchecked` because the memory behind the pointers is the C library's to synchronise.
package final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  @inline(__always)
  package func acquire() { pthread_mutex_lock(mutex) }

  @inline(__always)
  package func release() { pthread_mutex_unlock(mutex) }

  /// Runs `body` while holding the lock.
  @inline(__always)
  package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Gives up the lock, waits, and takes it again.
  ///
  /// Waits for ``wakeAll()`` or for `milliseconds`, without limit if `nil`; may return early.
  package func wait(milliseconds: UInt64? = nil) {
    guard let milliseconds else {
      pthread_cond_wait(condition, mutex)
      return
    }
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    let nanoseconds = UInt64(deadline.tv_nsec) + (milliseconds % 1000) * 1_000_000
    deadline.tv_sec += Int(milliseconds / 1000) + Int(nanoseconds / 1_000_000_000)
    deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
    pthread_cond_timedwait(condition, mutex, &deadline)
  }

  /// Wakes every thread in ``wait(milliseconds:)``.
  package func wakeAll() { pthread_cond_broadcast(condition) }
}
