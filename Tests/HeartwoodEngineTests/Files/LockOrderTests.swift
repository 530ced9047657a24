import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that debug builds check the lock order whenever a lock is requested.
@Suite("The order of locks")
struct LockOrderTests {
  private static let order = [
    LockByte.maintenance, LockByte.writer, LockByte.sync, LockByte.allocator, LockByte.keep,
  ]

  private func file() throws -> any File {
    try #require(try MemoryFileSystem().open("/locks", .create))
  }

  @Test(.evidence("U5")) func `lets a thread take later locks but no earlier ones`() throws {
    let file = try file()
    for (index, held) in Self.order.enumerated() {
      for (other, wanted) in Self.order.enumerated() {
        #expect(LockOrder.enter(held, of: file))
        #expect(LockOrder.enter(wanted, of: file) == (other > index), "\(held), then \(wanted)")
        #expect(LockOrder.leave(wanted, of: file) && LockOrder.leave(held, of: file))
      }
    }
  }

  @Test(.evidence("U5")) func `is separate for each store and each thread`() throws {
    let (file, another) = (try file(), try self.file())
    #expect(LockOrder.enter(LockByte.writer, of: file))
    #expect(LockOrder.enter(LockByte.maintenance, of: another))
    let thread = SystemThread {
      #expect(LockOrder.enter(LockByte.maintenance, of: another))
      #expect(LockOrder.leave(LockByte.maintenance, of: another))
    }
    thread?.join()
    #expect(LockOrder.leave(LockByte.maintenance, of: another))
    #expect(LockOrder.leave(LockByte.writer, of: file))
    #expect(LockOrder.enter(LockByte.maintenance, of: file))
    #expect(LockOrder.leave(LockByte.maintenance, of: file))
  }

  @Test(.spawning, .evidence("U5"), .enabled(if: !TestBuild.isOptimised))
  func `stops a debug build that violates it`() async {
    await #expect(processExitsWith: .failure) {
      let fixture = try StoreFixture.onDisk()
      let files = try fixture.open().files
      try files.keeping.withLock { () throws(StorageError) in
        try files.maintenance.withLock { () throws(StorageError) in }
      }
    }
  }
}
