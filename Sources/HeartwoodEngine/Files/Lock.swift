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
/// In a child by `fork` a lock of the parent's does nothing at all: a thread that is gone may hold
/// it, and destroying a condition waits for those who wait for it. What such a lock guards is not
/// to be used there; this only keeps what goes away by itself from hanging.
///
/// - Note: `@unchecked` because the memory behind the pointers is the C library's to synchronise.
package final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let origin = ProcessOrigin()

  package init() {
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      // By the wall clock, a wait would last longer by what that is set back.
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    guard !origin.isInherited else { return }
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  @inline(__always)
  package func acquire() {
    if !origin.isInherited { pthread_mutex_lock(mutex) }
  }

  @inline(__always)
  package func release() {
    if !origin.isInherited { pthread_mutex_unlock(mutex) }
  }

  /// Runs `body` while holding the lock.
  @inline(__always)
  package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    acquire()
    defer { release() }
    return try body()
  }

  /// Gives up the lock, waits, and takes it again.
  ///
  /// Waits for ``wakeAll()`` or for `milliseconds` of a clock that nobody sets, without limit if
  /// `nil`; may return early.
  package func wait(milliseconds: UInt64? = nil) {
    guard !origin.isInherited else { return }
    guard let milliseconds else {
      pthread_cond_wait(condition, mutex)
      return
    }
    #if canImport(Darwin)
      var time = timespec(
        tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
      pthread_cond_timedwait_relative_np(condition, mutex, &time)
    #else
      var deadline = timespec()
      clock_gettime(CLOCK_MONOTONIC, &deadline)
      let nanoseconds = UInt64(deadline.tv_nsec) + (milliseconds % 1000) * 1_000_000
      deadline.tv_sec += Int(milliseconds / 1000) + Int(nanoseconds / 1_000_000_000)
      deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
      pthread_cond_timedwait(condition, mutex, &deadline)
    #endif
  }

  /// Wakes every thread in ``wait(milliseconds:)``.
  package func wakeAll() {
    if !origin.isInherited { pthread_cond_broadcast(condition) }
  }
}
