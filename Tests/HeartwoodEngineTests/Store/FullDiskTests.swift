import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests a disk that remains full, so that files can be overwritten but cannot grow.
@Suite("A store on a full disk")
struct FullDiskTests {
  private static let rowCount = 2000

  private func fixture() -> (disk: QuotaFileSystem, fixture: StoreFixture) {
    let disk = QuotaFileSystem(directory: "/store", limit: 3 << 20)
    var options = StoreOptions()
    options.segmentByteCount = 128 << 10
    options.checkpointLogByteCount = 512 << 10
    return (disk, StoreFixture.on(disk, options))
  }

  private func put(_ store: Store, _ number: Int) throws {
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1000)
    try store.write { try $0.keyspace("a").put(number, value) }
  }

  /// Puts rows until the disk is full, and returns their number.
  private func fill(_ store: Store) throws -> Int {
    for number in 0..<Self.rowCount * 10 {
      do { try put(store, number) } catch let error as StorageError {
        #expect(error.kind == .diskFull)
        return number
      }
    }
    return Self.rowCount * 10
  }

  private func expectRows(_ store: Store, _ numbers: Range<Int>) throws {
    let keyspace = try #require(try store.snapshot().keyspace("a"))
    let count = try keyspace.count()
    #expect(count == numbers.count)
    for number in numbers {
      let value = try keyspace.get(number)
      #expect(value?.count == 1000 && value?.first == UInt8(truncatingIfNeeded: number))
    }
  }

  @Test(.evidence("F6")) func `can be read, overwritten, checkpointed and emptied`() throws {
    let (disk, fixture) = fixture()
    try fixture.run { store in
      let count = try fill(store)
      #expect(count > 300)
      try expectRows(store, 0..<count)
      // These puts write ten times as much data as the log has space for, so maintenance runs must
      // free space between the commits.
      for number in 0..<count { try put(store, number) }
      try expectRows(store, 0..<count)
      try store.checkpoint()
      #expect(store.statistics.checkpointedGeneration == store.statistics.newestGeneration)
      for number in 0..<count - 10 {
        try store.write { try $0.keyspace("a").delete(number) }
      }
      try expectRows(store, count - 10..<count)
      try store.checkpoint()
      try store.compact()
      // Space has been freed, so more rows can be stored.
      for number in 0..<100 { try put(store, number) }
      #expect(try disk.used() <= disk.limit)
    }
  }

  @Test(.evidence("F6"), arguments: [false, true])
  func `opens, even after a restart of the machine`(restarts: Bool) throws {
    let (disk, fixture) = fixture()
    var count = 0
    do {
      let store = try fixture.open()
      count = try fill(store)
    }
    disk.limit = try disk.used()
    if restarts { disk.boot += 1 }
    try fixture.run { store in
      try expectRows(store, 0..<count)
      for number in 0..<count - 10 {
        try store.write { try $0.keyspace("a").delete(number) }
      }
      try expectRows(store, count - 10..<count)
    }
  }

  @Test(.evidence("F1"), .evidence("F6"))
  func `keeps snapshots intact while transactions delete`() throws {
    let (_, fixture) = fixture()
    try fixture.run { store in
      let count = try fill(store)
      let snapshot = try store.snapshot()
      for number in 0..<count / 2 {
        do { try store.write { try $0.keyspace("a").delete(number) } } catch {
          // There may not be enough space for both the pages of the held generation and the new
          // pages.
          #expect((error as? StorageError)?.kind == .diskFull)
          break
        }
      }
      let held = try snapshot.keyspace("a")?.count()
      #expect(held == count)
    }
  }
}
