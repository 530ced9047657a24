import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests stores when calls to the file system fail.
///
/// For every n, the n-th call fails, either once or together with all later calls. Every failure
/// must throw an error, must never cause an incorrect state, and must not affect readers. After a
/// kill or a power cut, the reopened store must contain everything that was acknowledged.
@Suite("A store whose calls fail")
struct FailureTests {
  private static let steps: [Step] = [
    .write(.full, operationCount: 3, valueByteCount: 200), .pin,
    .write(.normal, operationCount: 3, valueByteCount: 6000), .checkpoint,
    .write(.full, operationCount: 2, valueByteCount: 100), .unpin,
    .checkpoint, .write(.full, operationCount: 4, valueByteCount: 300),
  ]

  /// Steps with transactions that are spilled to the log and then committed, partly rolled back, or
  /// abandoned.
  private static let spillingSteps: [Step] = [
    .write(.full, operationCount: 2, valueByteCount: 200), .pin,
    .write(.normal, operationCount: 12, valueByteCount: 2000), .abandonedSpill,
    .savepoints(.full, operationCount: 1, valueByteCount: 900), .unpin, .checkpoint,
  ]

  private func openedHistory(isSpilling: Bool = false) throws -> CrashHistory {
    let run = CrashHistory(
      disk: SimulatedDisk(seed: 7), seed: 7,
      options: CrashHistory.options(memoryPageCount: isSpilling ? 4 : nil))
    try run.open()
    return run
  }

  /// Runs all steps, even if some of them throw, and returns the errors in order.
  private func runOn(
    _ run: CrashHistory, _ context: String, _ steps: [Step] = FailureTests.steps
  ) -> [StorageError] {
    var errors: [StorageError] = []
    for step in steps {
      do { try run.run(step) } catch let error as StorageError {
        errors.append(error)
      } catch {
        Issue.record("\(context): \(error)")
      }
      do {
        let finding = try run.findingInPinned()
        #expect(finding == nil, "\(context)")
      } catch {
        Issue.record("\(context): a reader failed: \(error)")
      }
    }
    return errors
  }

  private func callCount(
    _ steps: [Step] = FailureTests.steps, isSpilling: Bool = false
  ) throws -> (before: Int, after: Int) {
    let run = try openedHistory(isSpilling: isSpilling)
    let before = run.disk.callCount
    try run.run(steps)
    return (before, run.disk.callCount)
  }

  @Test(.evidence("F1"), arguments: [false, true])
  func `rolls back when the disk is full, and continues when there is room`(leavesPart: Bool) throws
  {
    try fillDisk(Self.steps, isSpilling: false, leavesPart: leavesPart)
  }

  @Test(.evidence("F1"), .evidence("D5"), arguments: [false, true])
  func `rolls back larger transactions when the disk is full`(leavesPart: Bool) throws {
    try fillDisk(Self.spillingSteps, isSpilling: true, leavesPart: leavesPart)
  }

  private func fillDisk(_ steps: [Step], isSpilling: Bool, leavesPart: Bool) throws {
    let calls = try callCount(steps, isSpilling: isSpilling)
    let step = TestScale.pick(quick: 10, all: 1)
    for call in stride(from: calls.before + 1, through: calls.after, by: step) {
      let context = "full at call \(call), part \(leavesPart)"
      let run = try openedHistory(isSpilling: isSpilling)
      run.disk.faultPlan = .failure(
        .diskFull, atCall: call, leavesPart: leavesPart, dropsUnsynced: true)
      let errors = runOn(run, context, steps)
      // A sync that fails because the disk is full must disable writes, like any other failed sync.
      // The exception is the sync of a file that is about to replace another file.
      let syncFailed = run.disk.calls[call - 1] == .sync
      let isDisabled = syncFailed && errors.contains { $0.kind != .diskFull }
      let kinds: [StorageError.Kind] = isDisabled ? [.io, .writesDisabled] : [.diskFull]
      #expect(errors.allSatisfy { kinds.contains($0.kind) }, "\(context): \(errors)")
      run.disk.faultPlan = FaultPlan()
      let store = try #require(run.store)
      if !isDisabled {
        #expect(throws: Never.self, "\(context)") {
          try run.run(.write(.full, operationCount: 2, valueByteCount: 50))
        }
        let finding = try run.finding(in: store, atLeast: run.acknowledgedCount)
        #expect(finding == nil, "\(context)")
      }
      try checkAfterReopening(run, context)
    }
  }

  @Test(.evidence("F1"), .evidence("D6"), arguments: TestScale.seeds(quick: 3, all: 10))
  func `revokes a commit that a full disk has written in part`(seed: UInt64) throws {
    // No pages are kept in memory, so the commit mark is written on its own. The commit can then be
    // complete even if this write is reported as incomplete.
    var options = CrashHistory.options(memoryPageCount: 0)
    // The entire log fits in one segment, so no segment is reclaimed.
    options.segmentByteCount = options.pageByteCount * 64
    func opened() throws -> CrashHistory {
      let run = CrashHistory(disk: SimulatedDisk(seed: seed), seed: 7, options: options)
      try run.open()
      try run.run(.write(.full, operationCount: 2, valueByteCount: 200))
      return run
    }
    let complete = try opened()
    let before = complete.disk.callCount
    try complete.run(.write(.normal, operationCount: 1, valueByteCount: 200))
    for call in before + 1...complete.disk.callCount {
      let run = try opened()
      run.disk.faultPlan = .failure(.diskFull, atCall: call, leavesPart: true)
      do {
        try run.run(.write(.normal, operationCount: 1, valueByteCount: 200))
        continue
      } catch let error as StorageError {
        #expect(error.kind == .diskFull, "seed \(seed), call \(call)")
      }
      run.abandon()
      // Let the process die before anything else is written to the frames of that commit.
      let retained = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: run.disk.killed())
      #expect(try CrashHistory.number(of: retained.snapshot()) == 1, "seed \(seed), call \(call)")
    }
  }

  @Test(
    .evidence("F2"), .evidence("F3"), .evidence("F5"), arguments: [false, true], [false, true])
  func `stays correct when a call fails, once or permanently`(isLasting: Bool, drops: Bool) throws {
    try failCalls(Self.steps, isSpilling: false, isLasting: isLasting, drops: drops)
  }

  @Test(
    .evidence("F2"), .evidence("F5"), .evidence("D6"), arguments: [false, true], [false, true])
  func `stays correct when a call of a larger transaction fails`(
    isLasting: Bool, drops: Bool
  ) throws {
    try failCalls(Self.spillingSteps, isSpilling: true, isLasting: isLasting, drops: drops)
  }

  private func failCalls(
    _ steps: [Step], isSpilling: Bool, isLasting: Bool, drops: Bool
  ) throws {
    let calls = try callCount(steps, isSpilling: isSpilling)
    let step = TestScale.pick(quick: 10, all: 1)
    for call in stride(from: calls.before + 1, through: calls.after, by: step) {
      let context = "io at call \(call), lasting \(isLasting), dropping \(drops)"
      let run = try openedHistory(isSpilling: isSpilling)
      run.disk.faultPlan = .failure(
        .io, atCall: call, isLasting: isLasting, leavesPart: true, dropsUnsynced: drops)
      let errors = runOn(run, context, steps)
      // A step may succeed even if creating segments in advance or reclaiming segments fails.
      #expect(!errors.isEmpty || isSpilling, "\(context)")
      run.disk.faultPlan = FaultPlan()
      try checkAfterReopening(run, context)
    }
  }

  @Test(.evidence("F2"), .evidence("F3"))
  func `accepts no writes after a failed sync until it is reopened`() throws {
    let run = try openedHistory()
    try run.run(.write(.full, operationCount: 2, valueByteCount: 50))
    let next = run.disk.callCount
    // The next commit makes one write and then one sync, so its sync is the second call from now.
    run.disk.faultPlan = .failure(.io, atCall: next + 2, dropsUnsynced: true)
    #expect(throws: StorageError.self) {
      try run.run(.write(.full, operationCount: 2, valueByteCount: 50))
    }
    let store = try #require(run.store)
    for _ in 0..<2 {
      do {
        try store.write { try $0.keyspace("a").put(Int64(1), [1]) }
        Issue.record("a write succeeded after a failed sync")
      } catch let error as StorageError {
        #expect(error.kind == .writesDisabled)
      }
    }
    #expect(try CrashHistory.number(of: store.snapshot()) == 1)
    try checkAfterReopening(run, "after a failed sync")
  }

  @Test(.evidence("F1"), .evidence("F5"), arguments: [StorageError.Kind.diskFull, .io])
  func `stays correct when a call of a compaction fails`(kind: StorageError.Kind) throws {
    func prepared() throws -> CrashHistory {
      let run = try openedHistory()
      try run.run([
        .write(.full, operationCount: 30, valueByteCount: 5000), .checkpoint, .removeKeyspace,
      ])
      return run
    }
    let complete = try prepared()
    let before = complete.disk.callCount
    try complete.run(.compact)
    #expect(complete.disk.callCount > before + 20)
    for call in (before + 1)...complete.disk.callCount {
      let context = "\(kind) at call \(call)"
      let run = try prepared()
      run.disk.faultPlan = .failure(kind, atCall: call, leavesPart: true, dropsUnsynced: true)
      var errorKind: StorageError.Kind?
      do { try run.run(.compact) } catch let error as StorageError { errorKind = error.kind }
      let syncFailed = run.disk.calls[call - 1] == .sync
      let expected = [nil, kind] + (syncFailed ? [.io] : [])
      #expect(expected.contains(errorKind), "\(context)")
      run.disk.faultPlan = FaultPlan()
      let store = try #require(run.store)
      #expect(try run.finding(in: store, atLeast: run.acknowledgedCount) == nil, "\(context)")
      if kind == .diskFull, !syncFailed {
        #expect(throws: Never.self, "\(context)") { try run.run(.compact) }
      }
      try checkAfterReopening(run, context)
    }
  }

  /// Kills the process and cuts the power, and expects the store to contain all durable commits
  /// each time.
  ///
  /// The store must also accept writes.
  private func checkAfterReopening(_ run: CrashHistory, _ context: String) throws {
    run.abandon()
    let cut = run.disk.crashed(.nothing)
    let killed = run.disk.killed()
    // The failing sync may have dropped a commit that was not yet durable, so expect only durable
    // commits.
    for (disk, least, how) in [(killed, run.durableCount, "kill"), (cut, run.durableCount, "cut")] {
      do {
        let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
        let finding = try run.finding(in: store, atLeast: least)
        #expect(finding == nil, "\(context), \(how)")
        try store.write { try $0.keyspace("after").put("failure", [1]) }
        let again = try Store(
          at: "/store", options: CrashHistory.options(), fileSystem: disk.crashed(.nothing))
        #expect(
          try again.snapshot().keyspace("after")?.get("failure") == [1], "\(context), \(how)")
      } catch {
        Issue.record("\(context), \(how): \(error)")
      }
    }
  }

  @Test(.evidence("F4"), .evidence("F5"))
  func `reports a failing read and continues to read afterwards`() throws {
    let complete = try openedHistory()
    try complete.run(Self.steps)
    complete.abandon()
    let image = complete.disk.killed()
    let counting = image.killed()
    do {
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: counting)
      _ = try complete.finding(in: store, atLeast: 0)
    }
    for read in 1...counting.readCount {
      let disk = image.killed()
      disk.faultPlan = .failingRead(read)
      var store: Store?
      do {
        store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
        _ = try CrashHistory.content(of: try #require(store).snapshot())
      } catch let error as StorageError {
        #expect(error.kind == .io, "read \(read): \(error)")
      }
      disk.faultPlan = FaultPlan()
      let reopened =
        try store ?? Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      #expect(
        try complete.finding(in: reopened, atLeast: complete.durableCount) == nil, "read \(read)")
    }
  }

  @Test(.evidence("F5"))
  func `opens or reports the reason when calls fail`() throws {
    let complete = try openedHistory()
    try complete.run(Self.steps)
    complete.abandon()
    for kind in [StorageError.Kind.io, .diskFull] {
      for call in 1...12 {
        let disk = complete.disk.crashed(.everything)
        disk.faultPlan = .failure(kind, atCall: call, leavesPart: true, dropsUnsynced: true)
        do {
          _ = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
        } catch {
          let syncFailed = disk.calls[call - 1] == .sync
          #expect(
            error.kind == kind || (syncFailed && error.kind == .io),
            "\(kind) at call \(call): \(error)")
        }
        disk.faultPlan = FaultPlan()
        for disk in [disk, disk.crashed(.nothing)] {
          let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
          #expect(
            try complete.finding(in: store, atLeast: complete.durableCount) == nil,
            "\(kind) at call \(call)")
        }
      }
    }
  }
}
