import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Tests that a forked child has no effect on the stores of its parent.
///
/// Each test runs in its own process, which it forks.
@Suite("A store after a fork")
struct ForkTests {
  private static func options(_ access: StoreOptions.Access) -> StoreOptions {
    var options = StoreOptions()
    options.access = access
    options.segmentByteCount = 64 << 10
    return options
  }

  /// Makes every call that can throw, and returns the names of the calls that did not throw
  /// `forked`.
  private static func passed(
    _ store: Store, _ snapshot: Snapshot, _ keyspace: KeyspaceReader, _ cursor: Cursor,
    _ path: String
  ) -> [String] {
    let generation = snapshot.generation
    let calls: [(String, () throws -> Void)] = [
      ("write", { try store.write { try $0.keyspace("k").put(1, [9]) } }),
      ("read", { try store.read { _ in } }), ("snapshot", { _ = try store.snapshot() }),
      ("snapshot at", { _ = try store.snapshot(at: generation) }),
      ("checkpoint", { try store.checkpoint() }), ("verify", { _ = try store.verify() }),
      ("compact", { try store.compact() }), ("close", { try store.close() }),
      ("keep", { try store.keep(generation, as: "x") }), ("release", { try store.release("x") }),
      ("kept", { _ = try store.namedGenerations() }),
      ("live", { _ = try store.liveGenerations() }),
      ("holders", { _ = try store.holders() }),
      ("copy", { try store.copy(snapshot, to: path + ".copy") }),
      ("changes", { try store.changes(from: snapshot, to: snapshot) { _ in } }),
      ("keyspace", { _ = try snapshot.keyspace("k") }),
      ("names", { _ = try snapshot.keyspaceNames }), ("count", { _ = try keyspace.count() }),
      ("get", { _ = try keyspace.get(1) }), ("value", { _ = try keyspace.withValue(1) { _ in } }),
      ("many", { try keyspace.getMany([1, 2] as [Int]) { _, _ in } }),
      ("range", { try keyspace.forEach { _, _ in true } }),
      ("pieces", { try keyspace.forEachChunk(1) { _ in } }),
      ("cursor next", { try cursor.moveToNext() }), ("cursor value", { _ = try cursor.value }),
      ("cursor first", { try cursor.moveToFirst() }),
      ("cursor previous", { try cursor.moveToPrevious() }),
    ]
    return calls.filter { ForkedProcess.kind($0.1) != .forked }.map(\.0)
  }

  @Test(.spawning, .evidence("E3")) func `in memory rejects every call in the child`() async {
    await #expect(processExitsWith: .success) {
      let store = try Store.inMemory()
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let snapshot = try store.snapshot()
      let keyspace = try #require(try snapshot.keyspace("k"))
      let cursor = keyspace.cursor()
      try cursor.moveToFirst()
      let child = ForkedProcess {
        Self.passed(store, snapshot, keyspace, cursor, "/store") == [] ? 0 : 1
      }
      #expect(child.wait() == 0)
    }
  }

  @Test(.spawning, .evidence("E3"), .evidence("E4"), arguments: [true, false])
  func `rejects every call in the child, and continues in the parent`(isMapped: Bool) async {
    await #expect(processExitsWith: .success) { [isMapped = isMapped as Bool] in
      var options = Self.options(isMapped ? .mapped : .buffered)
      // The maintenance thread does not exist in the child, so the references held by this thread
      // are never released there. Without such a thread, the child can release all references.
      options.maintenance = isMapped ? .background : .inline
      let fixture = try StoreFixture.onDisk(options)
      var store: Store? = try fixture.open()
      try store?.write { transaction in
        for number in 0..<500 { try transaction.keyspace("k").put(number, [1, 2, 3]) }
      }
      var held = try store?.snapshot()
      let generation = try #require(held).generation
      try store?.write { try $0.keyspace("k").put(1, [4]) }
      var keyspace = try held?.keyspace("k")
      var cursor = keyspace?.cursor()
      try cursor?.moveToFirst()
      let child = ForkedProcess {
        guard let opened = store, let snapshot = held, let reader = keyspace, let position = cursor,
          descriptors(openIn: fixture.path) == []
        else { return 1 }
        let passed = Self.passed(opened, snapshot, reader, position, fixture.path)
        guard passed == [] else {
          print("these calls were not rejected: \(passed)")
          fflush(nil)
          return 2
        }
        guard opened.statistics.pageCount == 0 else { return 3 }
        return 0
      }
      #expect(child.wait() == 0)
      // The parent must not be affected when the child releases the objects and calls `exit`.
      let other = ForkedProcess {
        // The child has closed the descriptors of the store, so the same numbers now refer to other
        // files.
        let files = (0..<64).map { _ in open("/dev/null", O_RDONLY) }
        cursor = nil
        keyspace = nil
        held = nil
        store = nil
        exit(files.allSatisfy { fcntl($0, F_GETFD) != -1 } ? 0 : 4)
      }
      #expect(other.wait() == 0)
      #expect(try fixture.names().contains("store.copy") == false)
      let opened = try #require(store)
      // The parent must still hold all its locks.
      let locks = try #require(try fixture.fileSystem.open(fixture.path(of: "locks"), .read))
      let holderLock = try #require(HolderLock.open(getpid(), isReadOnly: false).byte)
      var bytes = [LockByte.live + generation.frame, LockByte.presenceReadWrite]
      // A store without a maintenance thread has no row in the list of holders.
      if isMapped { bytes += [LockByte.holderRow, holderLock] }
      for byte in bytes {
        #expect(try locks.lockedByOthers(in: byte..<byte + 1) != nil)
      }
      for number in 0..<200 {
        try opened.write { try $0.keyspace("k").put(number, [UInt8](repeating: 5, count: 900)) }
      }
      try opened.checkpoint()
      #expect(try held?.keyspace("k")?.get(1) == [1, 2, 3])
      #expect(try opened.snapshot(at: generation).keyspace("k")?.get(2) == [1, 2, 3])
      held = nil
      keyspace = nil
      cursor = nil
      try StoreFixture.expectSound(opened)
      try opened.close()
      try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
    }
  }

  @Test(.spawning, .evidence("E4"))
  func `tolerates reused descriptor numbers in the child`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options(.buffered))
      try fixture.run { try $0.write { try $0.keyspace("k").put(1, [1]) } }
      var file = try fixture.fileSystem.open(fixture.path(of: "locks"), .read)
      #expect(file != nil)
      let child = ForkedProcess {
        let numbers = (0..<64).map { _ in open("/dev/null", O_RDONLY) }
        file = nil
        return numbers.allSatisfy { fcntl($0, F_GETFD) != -1 } ? 0 : 1
      }
      #expect(child.wait() == 0)
      #expect(try file?.byteCount() != nil)
    }
  }

  /// Each child is forked inside a call, and throws an error to leave the call.
  @Test(.spawning, .evidence("E3"), .evidence("E4"))
  func `ends operations in progress in the child only`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options(.mapped))
      let store = try fixture.open()
      try store.write { transaction in
        for number in 0..<2000 { try transaction.keyspace("k").put(number, [1, 2, 3]) }
      }
      let old = try store.snapshot()
      for durability in [StoreOptions.Durability.full, .normal] {
        let write = ForkedProcess.within { fork in
          try store.write(durability: durability) { transaction in
            try transaction.keyspace("k").put(1, [7])
            fork()
          }
        }
        #expect(write == (nil, 0))
      }
      let change = ForkedProcess.within { fork in
        try store.write { transaction in
          fork()
          try transaction.keyspace("k").put(2, [8])
        }
      }
      #expect(change == (nil, 0))
      let range = ForkedProcess.within { fork in
        try old.keyspace("k")?.forEach { _, _ in
          fork()
          return true
        }
      }
      #expect(range == (nil, 0))
      let difference = ForkedProcess.within { fork in
        let new = try store.snapshot()
        try store.changes(from: old, to: new) { _ in fork() }
        try store.changes(from: old, to: new) { _ in }
      }
      #expect(difference == (nil, 0))
      let copy = ForkedProcess.within { fork in
        try store.copy(old, to: fixture.path + ".copy") { _ in fork() }
      }
      #expect(copy == (nil, 0))
      let compaction = ForkedProcess.within { fork in try store.compact { _ in fork() } }
      #expect(compaction == (nil, 0))
      // If an operation had failed in the parent, writing would now be disabled.
      try store.write { try $0.keyspace("k").put(3, [9]) }
      let content = try #require(try store.snapshot().keyspace("k"))
      let values = try (1...3).map { try content.get($0) }
      #expect(values == [[7], [8], [9]])
      try StoreFixture.expectSound(store)
      try store.close()
      let copied = try Store(at: fixture.path + ".copy")
      #expect(try copied.snapshot().keyspace("k")?.get(1) == [1, 2, 3])
      try StoreFixture.expectSound(copied)
      try copied.close()
    }
  }

  /// A lock that another thread holds at the moment of the fork is never released in the child.
  @Test(.spawning, .evidence("E3")) func `makes no child wait for a thread of its parent`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options(.buffered))
      var store: Store? = try fixture.open()
      try store?.write { try $0.keyspace("k").put(0, [1]) }
      var held = try store?.snapshot()
      let opened = try #require(store)
      let threads = (1...3).compactMap { writer in
        SystemThread {
          for step in 0..<400 {
            _ = try? opened.write(durability: .normal) { transaction in
              try transaction.keyspace("k").put(writer * 1000 + step, [2])
            }
            _ = try? opened.snapshot().keyspace("k")?.get(step)
            if step % 50 == 0 { _ = try? opened.checkpoint() }
          }
        }
      }
      #expect(threads.count == 3)
      for round in 0..<60 {
        let child = ForkedProcess {
          let write = ForkedProcess.kind { try opened.write { _ in } }
          let read = ForkedProcess.kind { _ = try opened.snapshot() }
          let close = ForkedProcess.kind { try opened.close() }
          held = nil
          store = nil
          return write == .forked && read == .forked && close == .forked ? 0 : 1
        }
        #expect(child.wait() == 0, "round \(round)")
      }
      for thread in threads { thread.join() }
      #expect(try opened.snapshot().keyspace("k")?.count() == 1201)
      #expect(try held?.keyspace("k")?.count() == 1)
      held = nil
      try StoreFixture.expectSound(opened)
      try opened.close()
    }
  }

  @Test(.spawning, .evidence("E4")) func `can be opened by the child as by any other process`()
    async
  {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture.onDisk(Self.options(.mapped))
      let other = try StoreFixture.onDisk(Self.options(.mapped))
      let store = try fixture.open()
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let early = ForkedProcess {
        // The child treats the parent's store as a store that another process has open.
        let joining = ForkedProcess.kind {
          let joined = try fixture.open()
          try joined.write { try $0.keyspace("k").put(2, [2]) }
          try joined.close()
        }
        guard joining == nil else { return 1 }
        // The child can use a store that it opened itself, but the grandchild cannot.
        let failure = ForkedProcess.kind {
          let own = try other.open()
          try own.write { try $0.keyspace("k").put(1, [2]) }
          let child = ForkedProcess {
            ForkedProcess.kind { _ = try own.snapshot() } == .forked ? 0 : 1
          }
          guard child.wait() == 0, try own.verify().findings == [] else {
            throw StorageError(.writesDisabled, "The child cannot use its own store.")
          }
          try own.close()
        }
        return failure == nil ? 0 : 2
      }
      #expect(early.wait() == 0)
      try StoreFixture.expectSound(store)
      try store.close()
      let late = ForkedProcess {
        ForkedProcess.kind {
          let own = try fixture.open()
          try own.write { try $0.keyspace("k").put(2, [2]) }
          try own.close()
        } == nil ? 0 : 1
      }
      #expect(late.wait() == 0)
      try fixture.run { store throws in
        #expect(try store.snapshot().keyspace("k")?.get(2) == [2])
      }
      try other.run { store throws in
        #expect(try store.snapshot().keyspace("k")?.get(1) == [2])
      }
    }
  }

  /// A child must not have copies of the descriptors, because a copy keeps the locks on its file.
  @Test(.spawning, .evidence("E4"), .evidence("I6"))
  func `has no locks when the parent is killed and the child lives on`() async throws {
    let directory = try ScratchDirectory()
    let path = directory.path(of: "store")
    let notes = directory.path(of: "child")
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, notes = notes as String] in
      let store = try Store(at: path)
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let held = try store.snapshot()
      _ = ForkedProcess {
        // Close all other descriptors, because the test runner waits until the pipes to this
        // process are closed.
        let own = descriptors(openIn: path)
        for descriptor in Int32(0)..<1024 where !own.contains(descriptor) { close(descriptor) }
        var number = Int64(getpid())
        let file = open(notes + ".new", O_WRONLY | O_CREAT, 0o644)
        _ = write(file, &number, 8)
        rename(notes + ".new", notes)
        // The test kills this process. The alarm is a fallback, and allows for long delays caused
        // by other tests.
        alarm(1200)
        while true { sleep(1) }
      }
      while access(notes, F_OK) != 0 { usleep(1000) }
      kill(getpid(), SIGKILL)
      withExtendedLifetime((store, held)) {}
    }
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: notes)))
    let child = pid_t(truncatingIfNeeded: bytes.withBytes { $0.load64(0) })
    defer { kill(child, SIGKILL) }
    let store = try Store(at: path)
    #expect(kill(child, 0) == 0)
    #expect(try store.snapshot().keyspace("k")?.get(1) == [1])
    try store.write { try $0.keyspace("k").put(2, [2]) }
    #expect(try store.verify().findings == [])
    try store.close()
  }
}
