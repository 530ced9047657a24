import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests system errors that leave the contents of the files unknown.
@Suite("A store whose writes are disabled")
struct ClosedForWritingTests {
  private func kind(_ body: () throws -> Void) throws -> StorageError.Kind? {
    do { try body() } catch let error as StorageError { return error.kind }
    return nil
  }

  /// Expects that the store can be read and rejects writes, and that it is complete after it is
  /// reopened.
  private func expectClosed(_ run: CrashHistory) throws {
    run.disk.faultPlan = FaultPlan()
    let store = try #require(run.store)
    for _ in 0..<2 {
      #expect(try kind { try store.write { try $0.keyspace("a").put(1, [1]) } } == .writesDisabled)
      #expect(try kind { try store.checkpoint() } == .writesDisabled)
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
  func `accepts no writes after a commit could not be written`(leavesPart: Bool) throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try run.run([.write(.full, operationCount: 2, valueByteCount: 50)])
    run.disk.faultPlan = .failure(.io, atCall: run.disk.callCount + 1, leavesPart: leavesPart)
    #expect(
      try kind { try run.run(.write(.full, operationCount: 2, valueByteCount: 50)) } == .io)
    #expect(run.disk.calls.last == .write)
    try expectClosed(run)
  }

  /// An earlier version retried a failed sync of the directory, and trusted the success of the
  /// retry.
  @Test(.evidence("F2"), .evidence("F3"))
  func `accepts no writes after a name could not be synced`() throws {
    let steps = [Step](
      repeating: .write(.normal, operationCount: 2, valueByteCount: 600), count: 12)
    let complete = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try complete.open()
    let first = complete.disk.callCount
    try complete.run(steps + [.checkpoint])
    var count = 0
    for call in (first + 1)...complete.disk.callCount
    where complete.disk.calls[call - 1] == .syncDirectory {
      let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
      try run.open()
      run.disk.faultPlan = .failure(.io, atCall: call)
      for step in steps + [.checkpoint] { _ = try kind { try run.run(step) } }
      try expectClosed(run)
      count += 1
    }
    #expect(count > 3)
  }

  /// In an earlier version, closing the store reported no error.
  ///
  /// The next power cut could then lose a `.normal` commit that closing should have made durable.
  @Test(.evidence("F2")) func `reports the failure when it is closed`() throws {
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
    #expect(try kind { try store.close() } == .writesDisabled)
    #expect(try kind { try store.close() } == nil)
  }

  @Test(.evidence("F2")) func `runs no transaction`() throws {
    let store = try StoreFixture.inMemory().open()
    store.files.counters.setFailed()
    var hasRun = false
    #expect(try kind { try store.write { _ in hasRun = true } } == .writesDisabled)
    #expect(!hasRun)
    try StoreFixture.expectSound(store)
  }

  /// Another thread's sync fails after the transaction has begun.
  @Test(.evidence("F2"), arguments: [64 << 20, 0])
  func `writes nothing for a running transaction`(memoryByteCount: Int) throws {
    let disk = SimulatedDisk(seed: 7)
    var options = StoreOptions()
    options.transactionMemoryByteCount = memoryByteCount
    let store = try StoreFixture.on(disk, options).open()
    var count = 0
    let error = try kind {
      try store.write { transaction in
        store.files.counters.setFailed()
        count = disk.callCount
        try transaction.keyspace("a").put(1, [1])
      }
    }
    #expect(error == .writesDisabled)
    #expect(disk.callCount == count)
    try StoreFixture.expectSound(store)
  }

  /// A second sync could succeed without effect, because the system may have dropped the unsynced
  /// pages.
  @Test(.evidence("F3")) func `never repeats a failed sync`() throws {
    let disk = SimulatedDisk(seed: 7)
    let store = try StoreFixture.on(disk).open()
    let generation = try store.write(durability: .normal) { try $0.keyspace("a").put(1, [1]) }
    disk.faultPlan = .failure(.io, atCall: disk.callCount + 1, dropsUnsynced: true)
    #expect(try kind { try store.keep(generation, as: "x") } == .io)
    #expect(disk.calls.last == .sync)
    disk.faultPlan = FaultPlan()
    let count = disk.callCount
    #expect(try kind { try store.keep(generation, as: "x") } == .writesDisabled)
    #expect(disk.callCount == count)
    try StoreFixture.expectSound(store)
  }

  @Test(.evidence("F2"), arguments: [false, true])
  func `accepts no writes after a page could not be checkpointed`(leavesPart: Bool) throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try run.run([.write(.full, operationCount: 2, valueByteCount: 50)])
    // The first call of the checkpoint syncs the directory, and the second call writes the page.
    run.disk.faultPlan = .failure(.io, atCall: run.disk.callCount + 2, leavesPart: leavesPart)
    #expect(try kind { try run.run(.checkpoint) } == .io)
    #expect(run.disk.calls.suffix(2) == [.syncDirectory, .write])
    try expectClosed(run)
  }
}
