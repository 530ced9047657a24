import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests locks that are held by a process with permission only to read the files of the store.
@Suite("A lock held by a reader", .waiting)
struct LockWaitTests {
  @Test(.mustEnd, arguments: [LockByte.sync, LockByte.maintenance])
  func `appears in the statistics of the process that waits for it`(byte: UInt64) throws {
    var options = StoreOptions()
    options.maintenance = .inline
    let fixture = try StoreFixture.onDisk(options)
    let store = try fixture.open()
    try store.write { try $0.keyspace("k").put(1, [1]) }
    let reader = try #require(
      try PosixFileSystem().open(fixture.path(of: "locks"), .read))
    #expect(try reader.lock(.shared, byte..<byte + 1))
    #expect(store.statistics.lockWait == nil)
    let thread = SystemThread {
      if byte == LockByte.sync {
        _ = try? store.write { try $0.keyspace("k").put(2, [2]) }
      } else {
        _ = try? store.checkpoint()
      }
    }
    var wait: LockWait?
    for _ in 0..<1000 where wait == nil {
      SystemThread.sleep(milliseconds: 10)
      wait = store.statistics.lockWait
    }
    #expect(wait?.lock == (byte == LockByte.sync ? "sync" : "maintenance"))
    #expect(wait.map { $0.duration >= .seconds(1) } == true)
    #expect(try reader.lock(.none, byte..<byte + 1))
    thread?.join()
    #expect(store.statistics.lockWait == nil)
    try store.close()
  }
}
