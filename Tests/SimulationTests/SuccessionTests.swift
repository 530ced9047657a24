import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests that commits are durable even if the previous process died and left calls incomplete.
@Suite("A store whose last process died")
struct SuccessionTests {
  private static let steps: [Step] = [
    .write(.full, operationCount: 2, valueByteCount: 900),
    .write(.normal, operationCount: 6, valueByteCount: 5000),
    .write(.full, operationCount: 2, valueByteCount: 900), .keep("x"),
    .write(.normal, operationCount: 6, valueByteCount: 5000), .checkpoint,
    .write(.full, operationCount: 2, valueByteCount: 900), .release("x"),
  ]

  private func open(_ disk: SimulatedDisk) throws -> Store {
    try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
  }

  /// Checkpoints the store that a dead process has left, cuts the power, and expects the commits.
  private func expectCommits(
    of run: CrashHistory, afterCheckpointOf disk: SimulatedDisk, _ context: String
  ) throws {
    let store = try open(disk)
    try store.checkpoint()
    let found = try run.finding(in: open(disk.crashed(.nothing)), atLeast: run.acknowledgedCount)
    #expect(found == nil, "\(context)")
    withExtendedLifetime(store) {}
  }

  @Test(.evidence("D1"), .evidence("D12"), .evidence("D13"))
  func `keeps the log until the dead process's header slot is durable`() throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 3), seed: 3)
    try run.run(Array(repeating: .write(.full, operationCount: 2, valueByteCount: 900), count: 20))
    run.disk.onWrite = { [disk = run.disk] path, offset, _ in
      guard path.hasSuffix("/pages"), offset < Geometry.firstPageOffset else { return }
      disk.faultPlan = .powerCut(atCall: disk.callCount + 2)
    }
    #expect(throws: StorageError.self) { try run.run(.checkpoint) }
    run.disk.onWrite = nil
    #expect(run.disk.calls.last == .sync)
    run.abandon()
    try expectCommits(of: run, afterCheckpointOf: run.disk.killed(), "died after the header slot")
  }

  @Test(.evidence("D1"), .evidence("D4"), .evidence("D8"))
  func `keeps the commits of the next process through a power cut, wherever the last one died`()
    throws
  {
    let complete = CrashHistory(disk: SimulatedDisk(seed: 3), seed: 3)
    try complete.run(Self.steps)
    let step = TestScale.pick(quick: 4, all: 1)
    for call in stride(from: 1, through: complete.callCount, by: step) {
      let run = CrashHistory(
        disk: SimulatedDisk(seed: 3, faultPlan: .powerCut(atCall: call)), seed: 3)
      do { try run.run(Self.steps) } catch is StorageError {}
      run.abandon()
      try expectCommits(of: run, afterCheckpointOf: run.disk.killed(), "died at call \(call)")
      let disk = run.disk.killed()
      let store = try open(disk)
      let finding = try run.finding(in: store, atLeast: run.acknowledgedCount)
      #expect(finding == nil, "died at call \(call)")
      // These commits go into the segment that the dead process was creating. After each commit,
      // cut the power before a later call can make the segment's name durable.
      for number in 0..<6 {
        try store.write { try $0.keyspace("after").put(number, [UInt8](repeating: 1, count: 3000)) }
        let again = try open(disk.crashed(.nothing))
        #expect(
          try again.snapshot().keyspace("after")?.count() == number + 1, "died at call \(call)")
        if number == 5 { try StoreFixture.expectSound(again) }
      }
      try StoreFixture.expectSound(store)
    }
  }
}
