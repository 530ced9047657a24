import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that a process keeps its locks on a store until its last write has ended.
@Suite("Closing a store during a write", .waiting)
struct ClosingTests {
  private let disk = SimulatedDisk(seed: 5)

  private func open(_ disk: SimulatedDisk) throws -> Store {
    var options = StoreOptions()
    options.maintenance = .inline
    options.checkpointLogByteCount = 0
    return try Store(at: "/store", options: options, fileSystem: disk)
  }

  @Test(.mustEnd, .evidence("D1"), .evidence("D7"), .evidence("F2"), .evidence("U7"))
  func `waits for the write, even if writing is disabled`() throws {
    let store = try open(disk)
    try store.write(durability: .normal) { try $0.keyspace("k").put(1, [1]) }
    var closing: Aside?
    let error = #expect(throws: StorageError.self) {
      try store.write(durability: .full) { transaction in
        closing = Aside {
          disk.faultPlan = .failure(.io, atCall: disk.callCount + 1, dropsUnsynced: true)
          _ = try? store.checkpoint()
          try? store.close()
          try open(disk).write(durability: .full) { try $0.keyspace("k").put(3, [3]) }
        }
        closing?.giveTime()
        try transaction.keyspace("k").put(2, [2])
      }
    }
    #expect(error?.kind == .writesDisabled)
    #expect(closing?.outcome() == nil)
    let keyspace = try open(disk.crashed(.nothing)).snapshot().keyspace("k")
    #expect(try [1, 2, 3].map { try keyspace?.get($0) } == [[1], nil, [3]])
  }

  @Test(.mustEnd, .evidence("D18"), .evidence("U7"), .evidence("U5"))
  func `by releasing its last object keeps the locks until the write has ended`() throws {
    let store = try open(disk)
    var other: Store? = try open(disk)
    #expect(try other?.snapshot().generation == store.snapshot().generation)
    try store.write { transaction in
      #expect(Aside { try store.close() }.outcome() == nil)
      other = nil
      let error = #expect(throws: StorageError.self) {
        try StoreReplacement(disk, busyMilliseconds: 0).destroy("/store")
      }
      #expect(error?.kind == .busy)
      try transaction.keyspace("k").put(1, [1])
    }
    try StoreReplacement(disk, busyMilliseconds: 0).destroy("/store")
    withExtendedLifetime(store) {}
  }
}
