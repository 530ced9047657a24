import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests power cuts after a store has used its reserve because the disk was full.
@Suite("A reserve that became a segment")
struct ReserveCrashTests {
  private static let rowCount = 60

  /// Returns a store on a full disk.
  ///
  /// The names of its next segments are already durable, because an earlier, larger transaction has
  /// used them.
  private func filledStore(_ disk: SimulatedDisk) throws -> Store {
    var options = CrashHistory.options(memoryPageCount: 8)
    // Use background maintenance, so that no transaction waits for a maintenance run.
    options.maintenance = .background
    let store = try Store(at: "/store", options: options, fileSystem: disk)
    try store.write { transaction in
      let keyspace = try transaction.keyspace("k")
      for row in 0..<Self.rowCount {
        try keyspace.put(row, [UInt8](repeating: UInt8(row), count: 1000))
      }
    }
    disk.byteCountLimit = disk.usedByteCount + (600 << 10)
    let error = #expect(throws: StorageError.self) {
      try store.write { transaction in
        for row in 1000..<3000 {
          try transaction.keyspace("k").put(row, [UInt8](repeating: 1, count: 1000))
        }
      }
    }
    #expect(error?.kind == .diskFull)
    // Let other files take all the space that the failed transaction has freed.
    disk.byteCountLimit = disk.usedByteCount
    return store
  }

  /// Deletes rows without maintenance until the reserve has become a segment.
  ///
  /// - Returns: The number of rows that remain.
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

  @Test(.evidence("D1")) func `has a durable name before its first commit is acknowledged`() throws
  {
    let disk = SimulatedDisk(seed: 7)
    let store = try filledStore(disk)
    // Hold the maintenance lock, like a process that was suspended during a maintenance run. The
    // store's own thread may still hold the lock.
    let locks = StoreLocks(file: try #require(try disk.open("/store/locks", .write)))
    try locks.waitForLock(.exclusive, byte: LockByte.maintenance)
    let count = try useReserve(disk, store)
    #expect(count > 0)
    try expectRows(count, on: disk.crashed(.nothing))
    for seed: UInt64 in 0..<20 {
      try expectRows(count, on: disk.crashed(.seeded(seed, .uniform, [.unorderedNames])))
    }
    try locks.unlock(byte: LockByte.maintenance)
    try store.close()
  }

  /// The transaction allocates some segments before it fails, and must return them.
  @Test(.evidence("F1")) func `leaves room if a transaction gets too few segments`() throws {
    let disk = SimulatedDisk(seed: 7)
    let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
    try store.write { try $0.keyspace("k").put(1, [1]) }
    // The page file can grow, but there is too little space for the transaction in the log.
    disk.byteCountLimit = disk.usedByteCount + (512 << 10) + (200 << 10)
    for _ in 0..<3 {
      let error = #expect(throws: StorageError.self) {
        try store.write { try $0.keyspace("k").put(2, [UInt8](repeating: 1, count: 400 << 10)) }
      }
      #expect(error?.kind == .diskFull)
      let segments = try (disk.list("/store") ?? []).filter { $0.hasPrefix("wal-") }
      let filled = segments.filter { disk.bytes(of: "/store/" + $0)?.isEmpty == false }
      #expect(filled.count <= 2, "\(filled)")
    }
    try store.write { try $0.keyspace("k").put(3, [3]) }
    try StoreFixture.expectSound(store)
  }
}
