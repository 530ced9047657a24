import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests which operations are possible in other processes while a suspended process holds a lock.
@Suite("A store with a lock held by another process", .serialized)
struct StandstillTests {
  /// Holds a lock byte while `body` runs, like a process that was suspended during an operation.
  private func whileHeld(
    _ byte: UInt64, _ body: (Store) throws -> Void
  ) throws {
    var options = StoreOptions()
    options.busyTimeout = .milliseconds(100)
    options.segmentByteCount = 256 << 10
    options.checkpointLogByteCount = 256 << 10
    let fixture = try StoreFixture.onDisk(options)
    try fixture.run { store throws in
      try store.write { try $0.keyspace("k").put(1, [1]) }
      let file = try #require(try PosixFileSystem().open(fixture.path(of: "locks"), .write))
      let locks = StoreLocks(file: file)
      try locks.waitForLock(.exclusive, byte: byte)
      try body(store)
      try locks.unlock(byte: byte)
      try store.write { try $0.keyspace("k").put(2, [2]) }
    }
  }

  @Test(.evidence("I2"), arguments: LockByte.maintenance...LockByte.allocator)
  func `can be read`(byte: UInt64) throws {
    try whileHeld(byte) { store throws in
      let snapshot = try store.snapshot()
      #expect(try snapshot.keyspace("k")?.get(1) == [1])
      #expect(try store.snapshot(at: snapshot.generation).generation == snapshot.generation)
    }
  }

  @Test(
    .evidence("I2"),
    arguments: [LockByte.maintenance, LockByte.sync, LockByte.keep, LockByte.allocator])
  func `can be written, unless it is the writer lock`(byte: UInt64) throws {
    try whileHeld(byte) { store throws in
      try store.write(durability: .normal) { try $0.keyspace("k").put(1, [2]) }
      #expect(try store.snapshot().keyspace("k")?.get(1) == [2])
    }
  }

  @Test func `rejects writers if it is the writer lock`() throws {
    try whileHeld(LockByte.writer) { store throws in
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(1, [2]) }
      }
      #expect(error?.kind == .busy)
    }
  }

  /// The commits succeed, but the log cannot be reclaimed while the lock is held.
  @Test(.evidence("I2"))
  func `can be written beyond the length at which writers wait for maintenance`() throws {
    try whileHeld(LockByte.maintenance) { store throws in
      for number in 0..<60 {
        try store.write(durability: .normal) {
          try $0.keyspace("k").put(number, [UInt8](repeating: 1, count: 30_000))
        }
      }
      #expect(try store.snapshot().keyspace("k")?.count() == 60)
    }
  }

  @Test(.evidence("D5"))
  func `rejects transactions that need new segments if it is the allocator lock`() throws {
    try whileHeld(LockByte.allocator) { store throws in
      let error = #expect(throws: StorageError.self) {
        try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          for number in 0..<100 {
            try keyspace.put(number, [UInt8](repeating: 1, count: 30_000))
          }
        }
      }
      #expect(error?.kind == .busy)
      #expect(try store.snapshot().keyspace("k")?.count() == 1)
    }
  }

  @Test(.evidence("K1")) func `rejects naming a generation if it is the keep lock`() throws {
    try whileHeld(LockByte.keep) { store throws in
      let error = #expect(throws: StorageError.self) {
        try store.keep(store.snapshot().generation, as: "name")
      }
      #expect(error?.kind == .busy)
      #expect(try store.namedGenerations().isEmpty)
    }
  }
}
