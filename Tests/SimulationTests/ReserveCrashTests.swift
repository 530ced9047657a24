import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Power cuts after a full disk made a store use its reserve.
@Suite("A reserve that became a segment")
struct ReserveCrashTests {
  private static let rowCount = 60

  /// A full store whose log goes on under names that an earlier, larger transaction made durable.
  private func filledStore(_ disk: SimulatedDisk) throws -> Store {
    let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    try store.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for row in 0..<Self.rowCount {
        try keyspace.put(row, [UInt8](repeating: UInt8(row), count: 1000))
      }
    }
    disk.byteCountLimit = disk.usedByteCount + (600 << 10)
    let error = #expect(throws: StorageError.self) {
      try store.write { try $0.keyspace("k").put(1000, [UInt8](repeating: 1, count: 4 << 20)) }
    }
    #expect(error?.kind == .full)
    // Others take all that was given back.
    disk.byteCountLimit = disk.usedByteCount
    return store
  }

  /// Deletes rows until the reserve is a segment; how many rows are left then.
  private func useReserve(_ disk: SimulatedDisk, _ store: Store) throws -> Int {
    for row in 0..<Self.rowCount where disk.bytes(of: "/store/reserve") != nil {
      try store.write { try $0.keyspace("k").delete(row) }
    }
    #expect(disk.bytes(of: "/store/reserve") == nil)
    return try store.snapshot().keyspace("k")?.count() ?? 0
  }

  private func expectRows(_ count: Int, on disk: SimulatedDisk) throws {
    let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    #expect(try store.snapshot().keyspace("k")?.count() == count)
    try StoreFixture.expectSound(store)
  }

  @Test(.evidence("D1")) func `has a durable name before its first commit is acknowledged`() throws {
    let disk = SimulatedDisk(seed: 7)
    let store = try filledStore(disk)
    let count = try useReserve(disk, store)
    try expectRows(count, on: disk.crashed(.nothing))
    for seed: UInt64 in 0..<20 {
      try expectRows(count, on: disk.crashed(.seeded(seed, .uniform, [.unorderedNames])))
    }
  }

  /// A transaction that cannot have all the segments it needs has had some.
  @Test(.evidence("F1")) func `leaves room when a transaction gets too few segments`() throws {
    let disk = SimulatedDisk(seed: 7)
    let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    try store.write { try $0.keyspace("k").put(1, [1]) }
    let used = disk.usedByteCount
    disk.byteCountLimit = used + (1 << 20)
    for _ in 0..<3 {
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(2, [UInt8](repeating: 1, count: 900 << 10)) }
      }
      #expect(error?.kind == .full)
      // The page file may have grown by then.
      #expect(disk.usedByteCount < used + (1 << 20) - (64 << 10))
    }
    try store.write { try $0.keyspace("k").put(3, [3]) }
    try StoreFixture.expectSound(store)
  }
}
