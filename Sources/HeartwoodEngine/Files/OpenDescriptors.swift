#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The file descriptors that the engine has opened in this process, and the memory that this
/// process shares with other processes.
///
/// A lock on an open file lasts until every copy of the file's descriptor is closed. A child
/// process created by `fork` would therefore hold its parent's locks, and it could also write to
/// shared memory. To prevent this sharing, a handler runs in the child before `fork` returns. The
/// handler closes the copied descriptors and replaces the shared memory with private memory.
///
/// The engine holds `lock` during a fork. The engine also holds `lock` while it opens a file and
/// registers the descriptor. All copied descriptors are therefore registered in the child. The
/// handler in the child must neither allocate memory nor wait. In a debug build, code that uses an
/// array or a range can wait for a lock of the Swift runtime. Another thread of the parent may have
/// held that lock during the fork. The tables that the handler reads are therefore plain memory.
enum OpenDescriptors {
  /// The error number from registering the fork handlers, or 0 if the registration succeeded.
  ///
  /// The handlers are registered when this property is first read. Opening any store reads the
  /// property, so the handlers are registered even for an in-memory store, which opens no files.
  private static let registration: Int32 = pthread_atfork(
    { OpenDescriptors.acquire() }, { OpenDescriptors.release() }, { OpenDescriptors.startChild() })

  // Use a plain mutex, because the fork handler releases it in the child, where `Lock` does
  // nothing.
  nonisolated(unsafe) private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    return lock
  }()
  // The compiler cannot check that the following properties are accessed only under `lock`.

  /// For each descriptor, a flag that is set if the engine has opened the descriptor.
  nonisolated(unsafe) private static var isOurs = UnsafeMutablePointer<Bool>.allocate(capacity: 0)
  nonisolated(unsafe) private static var isOursCount = 0
  nonisolated(unsafe) private static var sharedMemory =
    UnsafeMutablePointer<MutableBytes>.allocate(capacity: 0)
  nonisolated(unsafe) private static var sharedMemoryCount = 0
  nonisolated(unsafe) private static var sharedMemoryCapacity = 0

  /// Opens the file at `path`, and registers its descriptor.
  ///
  /// Close the descriptor with ``close(_:)``.
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

  /// Registers the fork handlers, unless they are already registered.
  static func registerForkHandlers() throws(StorageError) {
    guard registration == 0 else {
      throw .unchanged(
        .io,
        "Cannot register fork handlers, because there is not enough memory. Free some memory, and "
          + "then try again.",
        errno: registration)
    }
  }

  private static func register(_ descriptor: Int32) {
    let number = Int(descriptor)
    if number >= isOursCount {
      let count = max(isOursCount + 64, number + 1)
      isOurs = moved(isOurs, count: isOursCount, toCapacity: count)
      (isOurs + isOursCount).initialize(repeating: false, count: count - isOursCount)
      isOursCount = count
    }
    isOurs[number] = true
  }

  /// Moves the contents of a table to a larger table.
  private static func moved<Element>(
    _ table: UnsafeMutablePointer<Element>, count: Int, toCapacity capacity: Int
  ) -> UnsafeMutablePointer<Element> {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
    larger.moveInitialize(from: table, count: count)
    table.deallocate()
    return larger
  }

  /// Opens a file for a short time, without registering its descriptor.
  ///
  /// The caller must close the descriptor, and must not use it to lock the file.
  static func openBriefly(_ open: () -> Int32) -> Result<Int32, SystemError> {
    acquire()
    defer { release() }
    return SystemCalls.highDescriptor(open)
  }

  /// Returns the first 4,096 bytes of a system file, or `nil` if the file cannot be read.
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
  /// The method does both under `lock`, because the kernel may reuse the descriptor's number.
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
    if sharedMemoryCount == sharedMemoryCapacity {
      sharedMemoryCapacity += 8
      sharedMemory = moved(
        sharedMemory, count: sharedMemoryCount, toCapacity: sharedMemoryCapacity)
    }
    (sharedMemory + sharedMemoryCount).initialize(to: memory)
    sharedMemoryCount += 1
  }

  /// Unmaps and unregisters memory that is shared with other processes.
  static func unmapShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    if let position = (0..<sharedMemoryCount).first(where: { sharedMemory[$0].base == memory.base })
    {
      sharedMemoryCount -= 1
      sharedMemory[position] = sharedMemory[sharedMemoryCount]
    }
    munmap(memory.base, memory.count)
  }

  private static func acquire() { pthread_mutex_lock(lock) }

  private static func release() { pthread_mutex_unlock(lock) }

  /// Closes the inherited descriptors, and replaces the shared memory with private memory.
  ///
  /// The thread that called `fork` acquired `lock`. This method releases the child's copy of the
  /// lock.
  private static func startChild() {
    ProcessOrigin.leaveParent()
    var number = 0
    while number < isOursCount {
      if isOurs[number] {
        isOurs[number] = false
        SystemCalls.closeDescriptor(Int32(truncatingIfNeeded: number))
      }
      number &+= 1
    }
    var position = 0
    while position < sharedMemoryCount {
      let memory = sharedMemory[position]
      // Map private zero-filled memory at the same address, so that the range stays mapped and a
      // later `munmap` cannot remove a different mapping.
      _ = mmap(
        memory.base, memory.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
        0)
      position &+= 1
    }
    release()
  }
}
