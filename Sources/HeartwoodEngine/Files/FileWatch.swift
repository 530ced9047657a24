#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A watch that wakes a thread when any process calls ``File/touch()`` on the watched file.
///
/// A watch is thread-safe, but only one thread may wait at a time.
package protocol FileWatch: AnyObject, Sendable {
  /// Waits until the file is touched, ``end()`` is called or the timeout expires.
  ///
  /// Spurious wakeups are possible.
  func wait(milliseconds: UInt64)

  /// Ends the current wait, or the next wait if no thread is waiting.
  func end()
}

/// A file watch that uses inotify on Linux and kqueue on Darwin.
final class PosixFileWatch: FileWatch {
  private let descriptor: Int32
  /// The watch descriptor of the file on Linux, or its file descriptor on Darwin.
  private let target: Int32
  private let origin = ProcessOrigin()

  deinit {
    guard !origin.isInherited else { return }
    OpenDescriptors.close(descriptor)
    #if canImport(Darwin)
      OpenDescriptors.close(target)
    #endif
  }

  #if canImport(Darwin)
    /// Creates a watch, or returns `nil` if the file does not exist or the system lacks resources.
    init?(_ path: String) {
      guard case .success(let target) = OpenDescriptors.open(path, O_EVTONLY | O_NOFOLLOW) else {
        return nil
      }
      guard case .success(let descriptor) = OpenDescriptors.enter({ kqueue() }) else {
        OpenDescriptors.close(target)
        return nil
      }
      self.descriptor = descriptor
      self.target = target
      let changes = [
        Self.event(UInt(target), EVFILT_VNODE, EV_ADD | EV_CLEAR, UInt32(NOTE_ATTRIB)),
        Self.event(0, EVFILT_USER, EV_ADD | EV_CLEAR, 0),
      ]
      let result = SystemCalls.retrying {
        kevent(descriptor, changes, Int32(changes.count), nil, 0, nil)
      }
      guard case .success = result else { return nil }
    }

    private static func event(
      _ identifier: UInt, _ filter: Int32, _ flags: Int32, _ filterFlags: UInt32
    ) -> Darwin.kevent {
      Darwin.kevent(
        ident: identifier, filter: Int16(filter), flags: UInt16(flags), fflags: filterFlags,
        data: 0, udata: nil)
    }

    func wait(milliseconds: UInt64) {
      guard !origin.isInherited else { return }
      var time = timespec(
        tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
      var found = Self.event(0, 0, 0, 0)
      _ = kevent(descriptor, nil, 0, &found, 1, &time)
    }

    func end() {
      guard !origin.isInherited else { return }
      let trigger = [Self.event(0, EVFILT_USER, 0, UInt32(NOTE_TRIGGER))]
      _ = kevent(descriptor, trigger, 1, nil, 0, nil)
    }
  #else
    /// Creates a watch, or returns `nil` if the file does not exist or the system lacks resources.
    init?(_ path: String) {
      let opened = OpenDescriptors.enter { inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)) }
      guard case .success(let descriptor) = opened else { return nil }
      self.descriptor = descriptor
      let watch = SystemCalls.retrying {
        inotify_add_watch(descriptor, path, UInt32(IN_ATTRIB | IN_DONT_FOLLOW))
      }
      guard case .success(let target) = watch else {
        OpenDescriptors.close(descriptor)
        return nil
      }
      self.target = target
    }

    func wait(milliseconds: UInt64) {
      guard !origin.isInherited else { return }
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&request, 1, Int32(clamping: milliseconds)) > 0 else { return }
      // Drain the event queue, because otherwise the next `poll` would return immediately.
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        _ = read(descriptor, buffer.baseAddress, buffer.count)
      }
    }

    // Removing the watch produces a kernel event that wakes the waiting thread.
    func end() { if !origin.isInherited { inotify_rm_watch(descriptor, target) } }
  #endif
}
