import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("A savepoint on a full disk")
struct SavepointFailureTests {
  private struct Outcome {
    var rolledBack = false
    var isCommitted = false
  }

  private func open(_ disk: SimulatedDisk) throws(StorageError) -> Store {
    try Store(at: "/store", options: CrashHistory.options(memoryPageCount: 3), fileSystem: disk)
  }

  private func fill(_ rows: KeyspaceWriter, _ keys: Range<Int>, _ byte: UInt8) throws {
    for key in keys { try rows.put(key, [UInt8](repeating: byte, count: 700)) }
  }

  /// Runs a transaction of three parts, each of which is larger than the transaction's memory.
  ///
  /// The second part is in a savepoint.
  private func run(_ store: Store) throws -> Outcome {
    var outcome = Outcome()
    do {
      try store.write(durability: .normal) { transaction in
        let rows = try transaction.keyspace("rows")
        try fill(rows, 0..<20, 1)
        do {
          try transaction.savepoint { _ in try fill(rows, 10..<40, 2) }
        } catch {
          outcome.rolledBack = true
        }
        try fill(rows, 35..<60, 3)
      }
      outcome.isCommitted = true
    } catch let error as StorageError {
      #expect(error.kind == .diskFull)
    }
    return outcome
  }

  private func expectShown(_ store: Store, _ outcome: Outcome, _ context: String) throws {
    var expected: [Int: UInt8] = [:]
    if outcome.isCommitted {
      for key in 0..<20 { expected[key] = 1 }
      if !outcome.rolledBack { for key in 10..<40 { expected[key] = 2 } }
      for key in 35..<60 { expected[key] = 3 }
    }
    var found: [Int: UInt8] = [:]
    try store.snapshot().keyspace("rows")?.forEach { key, value in
      found[try Key.decode(key, as: Int.self)] = value.withUnsafeBytes { $0[0] }
      return true
    }
    #expect(found == expected, "\(context)")
    #expect(try store.verify().findings == [], "\(context)")
  }

  @Test(.evidence("F1"), .evidence("D2"), arguments: [false, true])
  func `is rolled back alone, and the transaction continues`(leavesPart: Bool) throws {
    let complete = SimulatedDisk(seed: 3)
    let first: Int
    do {
      let store = try open(complete)
      first = complete.callCount
      #expect(try run(store).isCommitted)
    }
    var counts = (rolledBack: 0, gaveUp: 0)
    let step = TestScale.pick(quick: 3, all: 1)
    for call in stride(from: first + 1, through: complete.callCount, by: step) {
      let context = "full at call \(call), part \(leavesPart)"
      let disk = SimulatedDisk(seed: 3)
      let outcome: Outcome
      do {
        let store = try open(disk)
        disk.faultPlan = .failure(.diskFull, atCall: call, leavesPart: leavesPart)
        outcome = try run(store)
        try expectShown(store, outcome, context)
      }
      try expectShown(open(disk.killed()), outcome, "\(context), killed")
      if outcome.isCommitted, outcome.rolledBack { counts.rolledBack += 1 }
      if !outcome.isCommitted { counts.gaveUp += 1 }
    }
    #expect(counts.rolledBack > 10 / step)
    #expect(counts.gaveUp > 10 / step)
  }
}
