#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The descriptors of this process's open files, and the memory it shares with other processes.
///
/// A lock of an open file lasts while any copy of its descriptor exists. A child made by `fork`
/// that keeps running would therefore hold its parent's locks, and every process would see its
/// stores to shared memory. To prevent this, a handler that runs in the child before `fork` returns
/// closes its copies and replaces the shared memory with private memory.
///
/// `lock` is held across the fork, and from before a file is opened until it is registered here, so
/// the child knows every copy it has. The handler in the child must neither allocate nor wait.
enum OpenDescriptors {
  /// The error number of registering the handlers, which happens on first use.
  private static let registration: Int32 = pthread_atfork(
    { OpenDescriptors.acquire() }, { OpenDescriptors.release() }, { OpenDescriptors.startChild() })

  // A plain mutex: a `Lock` does nothing in a child.
  nonisolated(unsafe) private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    return lock
  }()
  // Marked unsafe because the compiler cannot check it; both are used under `lock` only.
  nonisolated(unsafe) private static var isOurs: [Bool] = []
  nonisolated(unsafe) private static var sharedMemory: [MutableBytes] = []

  /// Opens the file at a path and registers its descriptor, which ``close(_:)`` must close.
  static func open(_ path: String, _ flags: Int32) -> Result<Int32, SystemError> {
    enter { SystemCalls.open(path, flags) }
  }

  /// Registers the descriptor that `make` returns, which is closed on `exec`.
  static func enter(_ make: () -> Int32) -> Result<Int32, SystemError> {
    acquire()
    defer { release() }
    guard registration == 0 else { return .failure(SystemError(code: registration)) }
    let result = SystemCalls.highDescriptor(make)
    if case .success(let descriptor) = result { register(descriptor) }
    return result
  }

  private static func register(_ descriptor: Int32) {
    let number = Int(descriptor)
    if number >= isOurs.count {
      isOurs += repeatElement(false, count: max(64, number + 1 - isOurs.count))
    }
    isOurs[number] = true
  }

  /// Opens a file briefly: the caller takes no locks through it and closes it.
  ///
  /// Holds `lock` as well, because each opening occupies the numbers of the standard streams
  /// briefly.
  static func openBriefly(_ open: () -> Int32) -> Result<Int32, SystemError> {
    acquire()
    defer { release() }
    return SystemCalls.highDescriptor(open)
  }

  /// Returns the first 4,096 bytes of a system file; `nil` if it cannot be read.
  static func readBriefly(_ path: String) -> [UInt8]? {
    guard case .success(let descriptor) = openBriefly({ SystemCalls.open(path, O_RDONLY) })
    else { return nil }
    defer { SystemCalls.closeDescriptor(descriptor) }
    let block = ByteBlock(count: 4096)
    defer { block.keep() }
    let result = SystemCalls.retrying { read(descriptor, block.bytes.base, block.bytes.count) }
    guard case .success(let count) = result else { return nil }
    return block.bytes.bytes.slice(0, count).copied()
  }

  /// Closes a registered descriptor.
  ///
  /// Closing and unregistering are one step: another thread may get the same number right
  /// afterwards.
  static func close(_ descriptor: Int32) {
    acquire()
    defer { release() }
    isOurs[Int(descriptor)] = false
    SystemCalls.closeDescriptor(descriptor)
  }

  /// Registers memory that is shared with other processes.
  static func enterShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    sharedMemory.append(memory)
  }

  /// Unmaps registered memory.
  static func unmapShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    sharedMemory.removeAll { $0.base == memory.base }
    munmap(memory.base, memory.count)
  }

  private static func acquire() { pthread_mutex_lock(lock) }

  private static func release() { pthread_mutex_unlock(lock) }

  /// Closes and unmaps what belongs to the parent; the forking thread holds `lock`.
  private static func startChild() {
    ProcessOrigin.leaveParent()
    for number in isOurs.indices where isOurs[number] {
      isOurs[number] = false
      SystemCalls.closeDescriptor(Int32(number))
    }
    for memory in sharedMemory {
      // Private zeros at the same address: the range stays mapped, so that a later `munmap` of it
      // cannot hit a different mapping.
      _ = mmap(
        memory.base, memory.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
        0)
    }
    release()
  }
}
