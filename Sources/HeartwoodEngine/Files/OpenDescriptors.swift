#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Tracks the file descriptors that the engine has opened in this process, and the memory that this
/// process shares with others.
///
/// A lock on an open file lasts as long as any copy of the file's descriptor, so a child process
/// created by `fork` would hold its parent's locks, and it could write to shared memory. A handler
/// that runs in the child before `fork` returns therefore closes the copied descriptors and
/// replaces the shared memory with private memory.
///
/// `lock` is held during a fork, and from before a file is opened until its descriptor is
/// registered, so that the child knows all copied descriptors. The handler in the child must
/// neither allocate memory nor wait.
enum OpenDescriptors {
  /// The result of registering the fork handlers on first use: 0 or an error number.
  private static let registration: Int32 = pthread_atfork(
    { OpenDescriptors.acquire() }, { OpenDescriptors.release() }, { OpenDescriptors.startChild() })

  // A plain mutex, because the fork handler releases it in the child, where `Lock` does nothing.
  nonisolated(unsafe) private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    return lock
  }()
  // The compiler cannot check that these two properties are accessed only under `lock`.
  nonisolated(unsafe) private static var isOurs: [Bool] = []
  nonisolated(unsafe) private static var sharedMemory: [MutableBytes] = []

  /// Opens the file at `path`, and registers the descriptor, to be closed with ``close(_:)``.
  static func open(_ path: String, _ flags: Int32) -> Result<Int32, SystemError> {
    enter { SystemCalls.open(path, flags) }
  }

  /// Calls `make` to open a descriptor that is closed on `exec`, and registers the descriptor.
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

  /// Opens a file for a short time, without registering its descriptor.
  ///
  /// The caller must not set locks through the descriptor, and must close it.
  static func openBriefly(_ open: () -> Int32) -> Result<Int32, SystemError> {
    acquire()
    defer { release() }
    return SystemCalls.highDescriptor(open)
  }

  /// Returns the first 4,096 bytes of a system file, or `nil` if it cannot be read.
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

  /// Closes and unregisters a descriptor under `lock`, because the kernel may reuse its number.
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

  /// Unmaps and unregisters memory that is shared with other processes.
  static func unmapShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    sharedMemory.removeAll { $0.base == memory.base }
    munmap(memory.base, memory.count)
  }

  private static func acquire() { pthread_mutex_lock(lock) }

  private static func release() { pthread_mutex_unlock(lock) }

  /// Closes the inherited descriptors, and replaces the shared memory with private memory.
  ///
  /// The thread that called `fork` acquired `lock`; this method releases the child's copy of it.
  private static func startChild() {
    ProcessOrigin.leaveParent()
    for number in isOurs.indices where isOurs[number] {
      isOurs[number] = false
      SystemCalls.closeDescriptor(Int32(number))
    }
    for memory in sharedMemory {
      // Map private zeros at the same address. The range stays mapped, so a later `munmap` of it
      // cannot remove a different mapping.
      _ = mmap(
        memory.base, memory.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
        0)
    }
    release()
  }
}
