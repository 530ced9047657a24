#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// An operating-system thread.
package struct SystemThread: @unchecked Sendable {
  // `@unchecked` is needed because the system's handle is a plain pointer on some platforms.
  private let thread: pthread_t

  /// A number that identifies the calling thread among all live threads.
  package static var current: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  package static var monotonicMilliseconds: UInt64 { milliseconds(CLOCK_MONOTONIC) }

  /// The wall-clock time in milliseconds since 1970.
  ///
  /// The time can jump when the clock is adjusted.
  package static var wallClockMilliseconds: UInt64 { milliseconds(CLOCK_REALTIME) }

  private static func milliseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(max(0, time.tv_sec)) * 1000 + UInt64(time.tv_nsec) / 1_000_000
  }

  package static func sleep(milliseconds: UInt64) { sleep(microseconds: milliseconds * 1000) }

  package static func sleep(microseconds: UInt64) {
    var time = timespec()
    time.tv_sec = Int(microseconds / 1_000_000)
    time.tv_nsec = Int(microseconds % 1_000_000) * 1000
    nanosleep(&time, nil)
  }

  /// Starts a thread, or returns `nil` if the system cannot start one.
  ///
  /// The thread must be joined exactly once.
  package init?(_ body: @escaping @Sendable () -> Void) {
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    func run(_ box: UnsafeMutableRawPointer?) {
      if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
    }
    #if canImport(Darwin)
      var created: pthread_t?
    #else
      var created = pthread_t()
    #endif
    let result = pthread_create(
      &created, nil,
      { box in
        run(box)
        return nil
      }, box.toOpaque())
    let handle: pthread_t? = created
    guard result == 0, let handle else {
      box.release()
      return nil
    }
    thread = handle
  }

  /// Waits until the thread has ended and released everything that its body held.
  package func join() { pthread_join(thread, nil) }
}
