#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A mutex with one condition variable.
///
/// The lock uses a `pthread` mutex behind a pointer. The thread sanitizer understands such mutexes,
/// and they support waits with a timeout.
///
/// In a child process created by `fork`, an inherited lock has no effect, because the thread that
/// holds it may not exist in the child. The child must not use the state that the lock guards, but
/// it can still run the deinitialisers of objects that use the lock.
///
/// - Note: `@unchecked` is safe because the C library synchronises the memory behind the pointers.
package final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let origin = ProcessOrigin()

  package init() {
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(condition, nil)
    #else
      // Use the monotonic clock: with the wall clock, setting the time back would prolong a wait.
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

  @inline(__always)
  package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    acquire()
    defer { release() }
    return try body()
  }

  /// Releases the lock, waits for ``wakeAll()`` or an optional timeout, and reacquires the lock.
  ///
  /// Spurious wakeups are possible.
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

  /// Waits like ``wait(milliseconds:)``, or returns `false` if the deadline has passed.
  ///
  /// - Parameter deadline: A time in milliseconds on the monotonic clock, or `nil` to wait without
  ///   a limit.
  func wait(until deadline: UInt64?) -> Bool {
    guard let deadline else {
      wait()
      return true
    }
    let now = SystemThread.monotonicMilliseconds
    guard now < deadline else { return false }
    wait(milliseconds: deadline - now)
    return true
  }

  package func wakeAll() {
    if !origin.isInherited { pthread_cond_broadcast(condition) }
  }
}
