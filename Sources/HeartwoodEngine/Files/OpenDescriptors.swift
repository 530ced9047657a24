#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The descriptors of this process's open files, and the memory that it shares with other
/// processes.
///
/// The lock of an open file is held while any copy of its descriptor exists. A child process
/// created by `fork` would therefore hold its parent's locks, and all processes would see what it
/// writes to shared memory. To prevent this, a handler that runs in the child before `fork` returns
/// closes the copies of the descriptors and replaces the shared memory with private memory.
///
/// `lock` is held during the fork, and from before a file is opened until its descriptor is
/// registered, so that the child knows all its copies. The handler in the child must neither
/// allocate nor wait.
enum OpenDescriptors {
  /// The result of registering the handlers, which happens on first use: 0 or an error number.
  private static let registration: Int32 = pthread_atfork(
    { OpenDescriptors.acquire() }, { OpenDescriptors.release() }, { OpenDescriptors.startChild() })

  // A plain mutex, because a `Lock` does nothing in a child process.
  nonisolated(unsafe) private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    return lock
  }()
  // Marked unsafe because the compiler cannot check that both are used under `lock` only.
  nonisolated(unsafe) private static var isOurs: [Bool] = []
  nonisolated(unsafe) private static var sharedMemory: [MutableBytes] = []

  /// Opens the file at a path and registers its descriptor, which must be closed with
  /// ``close(_:)``.
  static func open(_ path: String, _ flags: Int32) -> Result<Int32, SystemError> {
    enter { SystemCalls.open(path, flags) }
  }

  /// Registers the descriptor that `make` returns.
  ///
  /// It must be one that is closed on `exec`.
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

  /// Opens a file for a short time.
  ///
  /// The caller must set no locks through it, and must close it.
  ///
  /// This function also holds `lock`, because every opening occupies the numbers of the standard
  /// streams for a moment.
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

  /// Closes and unregisters a descriptor.
  ///
  /// Both happen under `lock`, because another thread may get the same number immediately
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

  /// Unmaps and unregisters memory that is shared with other processes.
  static func unmapShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    sharedMemory.removeAll { $0.base == memory.base }
    munmap(memory.base, memory.count)
  }

  private static func acquire() { pthread_mutex_lock(lock) }

  private static func release() { pthread_mutex_unlock(lock) }

  /// Closes the parent's descriptors and replaces its shared memory.
  ///
  /// The forking thread holds `lock`.
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
