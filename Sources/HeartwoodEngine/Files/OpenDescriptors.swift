#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The descriptors of this process's open files, and the memory it shares with other processes.
///
/// A lock of an open file lasts as long as any copy of its descriptor, so a child by `fork` that
/// lives on would hold its parent's locks, and a store to shared memory would be read by everybody.
/// So the child closes its copies and gets memory of its own in place of the shared, in a handler
/// that runs before `fork` returns.
///
/// `lock` is held across the fork, and from before a file is opened until it is entered here: so a
/// child knows every copy it has. What a child runs must not allocate nor wait.
enum OpenDescriptors {
  /// Registers the handlers with its first use; the error number of that.
  private static let registration: Int32 = pthread_atfork(
    { OpenDescriptors.acquire() }, { OpenDescriptors.release() }, { OpenDescriptors.startChild() })

  // A plain mutex: that of a `Lock` does nothing in a child.
  nonisolated(unsafe) private static let lock = {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    return lock
  }()
  // Unsafe to the compiler; both are used under `lock` only.
  nonisolated(unsafe) private static var isOurs: [Bool] = []
  nonisolated(unsafe) private static var sharedMemory: [MutableBytes] = []

  /// Opens what is at a path, and enters it, to be closed by ``close(_:)``.
  static func open(_ path: String, _ flags: Int32) -> Result<Int32, SystemError> {
    enter { SystemCalls.open(path, flags) }
  }

  /// Enters the descriptor that `make` returns, which closes when a program is started.
  static func enter(_ make: () -> Int32) -> Result<Int32, SystemError> {
    acquire()
    defer { release() }
    guard registration == 0 else { return .failure(SystemError(code: registration)) }
    let result = SystemCalls.placedDescriptor(make)
    if case .success(let descriptor) = result { note(descriptor) }
    return result
  }

  private static func note(_ descriptor: Int32) {
    let number = Int(descriptor)
    if number >= isOurs.count {
      isOurs += repeatElement(false, count: max(64, number + 1 - isOurs.count))
    }
    isOurs[number] = true
  }

  /// Opens something for a moment: without locks, and closed by the caller.
  ///
  /// Under `lock` too, because each opening takes the numbers of the standard streams for a while.
  static func openBriefly(_ open: () -> Int32) -> Result<Int32, SystemError> {
    acquire()
    defer { release() }
    return SystemCalls.placedDescriptor(open)
  }

  /// The first 4,096 bytes of a file of the system's; `nil` if it cannot be read.
  static func readBriefly(_ path: String) -> [UInt8]? {
    guard case .success(let descriptor) = openBriefly({ SystemCalls.open(path, O_RDONLY) })
    else { return nil }
    defer { closeDescriptor(descriptor) }
    let block = ByteBlock(count: 4096)
    defer { block.keep() }
    let result = SystemCalls.retrying { read(descriptor, block.bytes.base, block.bytes.count) }
    guard case .success(let count) = result else { return nil }
    return block.bytes.bytes.slice(0, count).copied()
  }

  /// Closes a descriptor that was entered.
  ///
  /// In one step with forgetting it: the number may be somebody else's a moment later.
  static func close(_ descriptor: Int32) {
    acquire()
    defer { release() }
    isOurs[Int(descriptor)] = false
    // The result is of no use here: whatever mattered was synced before, and calling it again could
    // close somebody else's file.
    closeDescriptor(descriptor)
  }

  /// Enters memory that is shared with other processes.
  static func enterShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    sharedMemory.append(memory)
  }

  /// Unmaps memory that was entered.
  static func unmapShared(_ memory: MutableBytes) {
    acquire()
    defer { release() }
    sharedMemory.removeAll { $0.base == memory.base }
    munmap(memory.base, memory.count)
  }

  private static func acquire() { pthread_mutex_lock(lock) }

  private static func release() { pthread_mutex_unlock(lock) }

  /// Gives up what belongs to the parent; the forking thread holds `lock`.
  private static func startChild() {
    ProcessOrigin.leaveParent()
    for number in isOurs.indices where isOurs[number] {
      isOurs[number] = false
      closeDescriptor(Int32(number))
    }
    for memory in sharedMemory {
      // Private, and zeros. The place stays taken: who unmaps it later must not meet another's.
      _ = mmap(
        memory.base, memory.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1,
        0)
    }
    release()
  }

  private static func closeDescriptor(_ descriptor: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(descriptor)
    #elseif canImport(Musl)
      _ = Musl.close(descriptor)
    #else
      _ = Darwin.close(descriptor)
    #endif
  }
}
