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
      let disk = run.disk.killed()
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      let finding = try run.finding(in: store, atLeast: run.acknowledgedCount)
      #expect(finding == nil, "died at call \(call)")
      // These commits go into the segment that the dead process was creating. After each commit,
      // cut the power before a later call can make the segment's name durable.
      for number in 0..<6 {
        try store.write { try $0.keyspace("after").put(number, [UInt8](repeating: 1, count: 3000)) }
        let again = try Store(
          at: "/store", options: CrashHistory.options(), fileSystem: disk.crashed(.nothing))
        #expect(
          try again.snapshot().keyspace("after")?.count() == number + 1, "died at call \(call)")
        if number == 5 { try StoreFixture.expectSound(again) }
      }
      try StoreFixture.expectSound(store)
    }
  }
}
