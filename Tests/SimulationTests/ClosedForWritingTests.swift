import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Errors of the system after which nobody knows what the files hold.
@Suite("A store whose writing failed")
struct ClosedForWritingTests {
  private func kind(_ body: () throws -> Void) throws -> StorageError.Kind? {
    do { try body() } catch let error as StorageError { return error.kind }
    return nil
  }

  /// The store reads on, takes no writes, and is whole when it is opened again.
  private func expectClosed(_ run: CrashHistory) throws {
    run.disk.faultPlan = FaultPlan()
    let store = try #require(run.store)
    for _ in 0..<2 {
      #expect(try kind { try store.write { try $0.keyspace("a").put(1, [1]) } } == .failed)
      #expect(try kind { try store.checkpoint() } == .failed)
    }
    #expect(try CrashHistory.number(of: store.snapshot()) == run.acknowledgedCount)
    try StoreFixture.expectSound(store)
    run.abandon()
    let again = try Store(
      at: "/store", options: CrashHistory.options(), fileSystem: run.disk.killed())
    #expect(try run.finding(in: again, atLeast: run.acknowledgedCount) == nil)
    try again.write { try $0.keyspace("after").put("failure", [1]) }
    try StoreFixture.expectSound(again)
  }

  @Test(.evidence("F2"), arguments: [false, true])
  func `takes no more writes when a commit could not be written`(leavesPart: Bool) throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try run.run([.write(.full, operationCount: 2, valueByteCount: 50)])
    run.disk.faultPlan = .failure(.io, atCall: run.disk.callCount + 1, leavesPart: leavesPart)
    #expect(
      try kind { try run.run(.write(.full, operationCount: 2, valueByteCount: 50)) } == .io)
    #expect(run.disk.calls.last == .write)
    try expectClosed(run)
  }

  /// A failed sync of the folder was tried again, went through, and was believed.
  @Test(.evidence("F2"), .evidence("F3"))
  func `takes no more writes when a name could not be synced`() throws {
    let steps = [Step](
      repeating: .write(.normal, operationCount: 2, valueByteCount: 600), count: 12)
    let whole = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try whole.open()
    let first = whole.disk.callCount
    try whole.run(steps + [.checkpoint])
    var count = 0
    for call in (first + 1)...whole.disk.callCount
    where whole.disk.calls[call - 1] == .syncDirectory {
      let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
      try run.open()
      run.disk.faultPlan = .failure(.io, atCall: call)
      for step in steps + [.checkpoint] { _ = try kind { try run.run(step) } }
      try expectClosed(run)
      count += 1
    }
    #expect(count > 3)
  }

  /// Closing was silent, and a commit without durability, which closing makes durable, was lost in
  /// the power cut that followed.
  @Test(.evidence("F2")) func `says so when it is closed`() throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try run.run([
      .write(.full, operationCount: 2, valueByteCount: 50),
      .write(.normal, operationCount: 2, valueByteCount: 50),
    ])
    run.disk.faultPlan = .failure(.io, atCall: run.disk.callCount + 1)
    #expect(try kind { try run.run(.checkpoint) } == .io)
    run.disk.faultPlan = FaultPlan()
    let store = try #require(run.store)
    try StoreFixture.expectSound(store)
    #expect(try kind { try store.close() } == .failed)
    #expect(try kind { try store.close() } == nil)
  }

  @Test(.evidence("F2"), arguments: [false, true])
  func `takes no more writes when a page could not be moved`(leavesPart: Bool) throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try run.run([.write(.full, operationCount: 2, valueByteCount: 50)])
    // The sync of the folder comes first.
    run.disk.faultPlan = .failure(.io, atCall: run.disk.callCount + 2, leavesPart: leavesPart)
    #expect(try kind { try run.run(.checkpoint) } == .io)
    #expect(run.disk.calls.suffix(2) == [.syncDirectory, .write])
    try expectClosed(run)
  }
}
