import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the state of a store after a power cut.
///
/// The simulated disk loses, reorders and tears unsynced changes, including changes to names and
/// lengths. In short histories, the power is cut at every call that changes something, and all
/// possible outcomes are checked if there are few enough. In long histories, the cuts and the
/// outcomes are random.
///
/// Each resulting store is opened, compared with the model, verified and written to. In some cases,
/// the power is cut again during recovery.
@Suite("A store after a power cut")
struct CrashTests {
  private static let histories: [[Step]] = [
    [.write(.full, operationCount: 1, valueByteCount: 30)],
    [
      .write(.normal, operationCount: 2, valueByteCount: 30),
      .write(.full, operationCount: 2, valueByteCount: 30),
      .write(.normal, operationCount: 1, valueByteCount: 30),
    ],
    [
      .write(.full, operationCount: 3, valueByteCount: 100), .checkpoint,
      .write(.full, operationCount: 2, valueByteCount: 100), .checkpoint,
    ],
    [
      .write(.full, operationCount: 2, valueByteCount: 9000), .pin,
      .write(.full, operationCount: 2, valueByteCount: 100), .checkpoint, .unpin,
      .write(.normal, operationCount: 2, valueByteCount: 100), .checkpoint,
    ],
    [
      .write(.full, operationCount: 2, valueByteCount: 50), .reopen,
      .write(.full, operationCount: 2, valueByteCount: 50), .kill,
      .write(.normal, operationCount: 2, valueByteCount: 50),
    ],
    [
      .write(.full, operationCount: 8, valueByteCount: 400), .removeKeyspace, .abandonedWrite,
      .write(.full, operationCount: 1, valueByteCount: 10), .checkpoint,
    ],
    [
      .write(.normal, operationCount: 2, valueByteCount: 50), .kill,
      .write(.normal, operationCount: 2, valueByteCount: 50), .checkpoint, .kill,
      .write(.full, operationCount: 1, valueByteCount: 50),
    ],
    [
      .write(.full, operationCount: 2, valueByteCount: 6000), .keep("x"),
      .write(.normal, operationCount: 4, valueByteCount: 6000),
      .write(.normal, operationCount: 4, valueByteCount: 6000), .checkpoint,
      .write(.full, operationCount: 1, valueByteCount: 50), .reopen, .checkpoint,
    ],
    [
      .write(.normal, operationCount: 2, valueByteCount: 6000), .pin,
      .write(.normal, operationCount: 2, valueByteCount: 6000), .keep("y"),
      .write(.normal, operationCount: 2, valueByteCount: 6000), .checkpoint, .kill,
      .release("y"), .write(.normal, operationCount: 2, valueByteCount: 6000), .checkpoint,
    ],
    [
      .write(.full, operationCount: 12, valueByteCount: 9000), .checkpoint, .removeKeyspace,
      .compact, .write(.full, operationCount: 1, valueByteCount: 50),
    ],
    [
      .write(.normal, operationCount: 2, valueByteCount: 50), .switchProcess,
      .write(.full, operationCount: 2, valueByteCount: 6000), .pin, .switchProcess,
      .write(.normal, operationCount: 4, valueByteCount: 6000), .checkpoint, .switchProcess,
      .unpin, .write(.normal, operationCount: 2, valueByteCount: 50), .checkpoint,
    ],
    [
      .write(.normal, operationCount: 4, valueByteCount: 9000), .switchProcess, .keep("x"),
      .write(.normal, operationCount: 2, valueByteCount: 50), .reopen, .switchProcess, .compact,
      .write(.full, operationCount: 1, valueByteCount: 50), .switchProcess, .checkpoint,
    ],
  ]

  @Test(
    .evidence("D1"), .evidence("D2"), .evidence("D3"), .evidence("D7"), .evidence("D11"),
    .evidence("D12"), .evidence("D13"),
    arguments: TestScale.some(Array(histories.indices), every: 3))
  func `has a prefix of complete commits after a cut at every call of a small history`(history: Int)
    throws
  {
    let states = try CrashHistory.cutEverywhere(
      Self.histories[history], seed: UInt64(history), "history \(history)")
    print("crash states: \(states) (small history \(history))")
    #expect(states > 10)
  }

  /// Histories with transactions that are too large for their memory and are partly rolled back.
  private static let spillingHistories: [[Step]] = [
    [
      .write(.full, operationCount: 2, valueByteCount: 50), .abandonedSpill,
      .write(.normal, operationCount: 2, valueByteCount: 50),
    ],
    [.savepoints(.full, operationCount: 1, valueByteCount: 1500)],
    [
      .abandonedSpill, .savepoints(.normal, operationCount: 1, valueByteCount: 500), .kill,
      .abandonedSpill, .write(.full, operationCount: 12, valueByteCount: 2000), .checkpoint,
    ],
  ]

  @Test(
    .evidence("D1"), .evidence("D2"), .evidence("D5"), .evidence("D6"),
    arguments: TestScale.some(Array(spillingHistories.indices), every: 4))
  func `has a prefix of complete commits after a cut at every call of large transactions`(
    history: Int
  ) throws {
    let states = try CrashHistory.cutEverywhere(
      Self.spillingHistories[history], seed: UInt64(history), "spilling history \(history)",
      CrashHistory.options(memoryPageCount: 3))
    print("crash states: \(states) (spilling history \(history))")
    #expect(states > 10)
  }

  @Test(
    .evidence("D1"), .evidence("D2"), .evidence("D3"), .evidence("D8"), .evidence("D9"),
    arguments: 0..<8)
  func `has a prefix of complete commits after power cuts in long histories and during recovery`(
    group: Int
  ) throws {
    var states = 0
    let count = TestScale.pick(quick: 2, all: 30, long: 120)
    for number in 0..<count {
      let seed = UInt64(group * 10_000 + number)
      states += try cutLong(seed)
    }
    print("crash states: \(states) (long histories \(group))")
  }

  private func cutLong(_ seed: UInt64) throws -> Int {
    var generator = SeededGenerator(seed: seed)
    let steps = CrashHistory.randomSteps(seed: seed, count: 25)
    let complete = CrashHistory(disk: SimulatedDisk(seed: seed), seed: seed)
    try complete.run(steps)
    let call = Int(generator.next() % UInt64(complete.callCount)) + 1
    let run = CrashHistory(
      disk: SimulatedDisk(
        seed: seed, faultPlan: .powerCut(atCall: call, leavesPart: generator.next() % 2 == 0)),
      seed: seed)
    do { try run.run(steps) } catch is StorageError {}
    run.abandon()
    var states = 0
    for mode in CrashMode.allCases {
      let options = CrashOptions.random(using: &generator)
      var disk = run.disk.crashed(.seeded(generator.next(), mode, options))
      // Cut the power up to two more times, each time at a random call of the previous recovery.
      for round in 0..<Int(generator.next() % 3) {
        disk.faultPlan = .powerCut(
          atCall: Int(generator.next() % 12) + 1, leavesPart: generator.next() % 2 == 0)
        let context = "seed \(seed), mode \(mode), recovery \(round)"
        do {
          _ = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
        } catch {
          #expect(error.kind != .corrupt, "\(context): \(error)")
        }
        disk = disk.crashed(.seeded(generator.next(), mode, options))
        states += 1
      }
      run.expectPrefix(on: disk, "seed \(seed), cut at call \(call), mode \(mode)")
      states += 1
    }
    return states
  }

  @Test(.evidence("D4"), arguments: 0..<4)
  func `loses no commit when only the process dies`(group: Int) throws {
    for number in 0..<TestScale.pick(quick: 3, all: 15, long: 60) {
      let seed = UInt64(group * 1000 + number)
      let steps = CrashHistory.randomSteps(seed: seed, count: 20)
      var generator = SeededGenerator(seed: seed)
      let run = CrashHistory(
        disk: SimulatedDisk(
          seed: seed, faultPlan: .powerCut(atCall: Int(generator.next() % 150) + 1)), seed: seed)
      do { try run.run(steps) } catch is StorageError {}
      run.abandon()
      let retained = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: run.disk.killed())
      let finding = try run.finding(in: retained, atLeast: run.acknowledgedCount)
      #expect(finding == nil, "seed \(seed)")
    }
  }

  @Test(.evidence("D4"), .evidence("D5"), .evidence("D6"), arguments: 0..<4)
  func `loses no larger transaction when only the process dies`(
    group: Int
  ) throws {
    for number in 0..<TestScale.pick(quick: 2, all: 10, long: 40) {
      let seed = UInt64(group * 1000 + number)
      let steps = CrashHistory.randomSpillingSteps(seed: seed, count: 15)
      var generator = SeededGenerator(seed: seed)
      let run = CrashHistory(
        disk: SimulatedDisk(
          seed: seed, faultPlan: .powerCut(atCall: Int(generator.next() % 400) + 1)), seed: seed,
        options: CrashHistory.options(memoryPageCount: 4))
      do { try run.run(steps) } catch is StorageError {}
      run.abandon()
      let retained = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: run.disk.killed())
      let finding = try run.finding(in: retained, atLeast: run.acknowledgedCount)
      #expect(finding == nil, "seed \(seed)")
    }
  }

  @Test(
    .evidence("D5"), .evidence("D6"), .evidence("I1"), arguments: TestScale.seeds(quick: 2, all: 4))
  func `shows the same snapshots while larger transactions run`(seed: UInt64) throws {
    let run = CrashHistory(
      disk: SimulatedDisk(seed: seed), seed: seed,
      options: CrashHistory.options(memoryPageCount: 4))
    try run.open()
    for step in CrashHistory.randomSpillingSteps(seed: seed, count: 40) {
      try run.run(step)
      #expect(try run.findingInPinned() == nil, "seed \(seed)")
      let store = try #require(run.store)
      let finding = try run.finding(in: store, atLeast: run.acknowledgedCount)
      #expect(finding == nil, "seed \(seed), \(step)")
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `is deterministic for each seed`(seed: UInt64) throws {
    let hashes = try (0..<2).map { _ in
      let disk = SimulatedDisk(seed: seed)
      disk.keepsLog = true
      let run = CrashHistory(disk: disk, seed: seed)
      try run.run(
        CrashHistory.randomSteps(seed: seed, count: 30).filter {
          if case .kill = $0 { false } else { true }
        })
      return disk.operationHash
    }
    #expect(hashes[0] == hashes[1], "seed \(seed)")
  }

  @Test(.evidence("I1"), .evidence("I7"), arguments: TestScale.seeds(quick: 2, all: 6))
  func `shows the same held snapshots while commits and checkpoints run`(seed: UInt64) throws {
    let run = CrashHistory(disk: SimulatedDisk(seed: seed), seed: seed)
    let steps = CrashHistory.randomSteps(seed: seed, count: 80).filter {
      switch $0 {
      case .kill, .reopen: false
      default: true
      }
    }
    try run.open()
    for step in steps {
      try run.run(step)
      #expect(try run.findingInPinned() == nil, "seed \(seed)")
    }
    while !run.pinned.isEmpty { try run.run(.unpin) }
    for name in run.kept.keys.sorted() { try run.run(.release(name)) }
    try run.run(.checkpoint)
    let store = try #require(run.store)
    #expect(
      store.statistics.checkpointedGeneration == store.statistics.newestGeneration, "seed \(seed)")
    #expect(try run.finding(in: store, atLeast: run.acknowledgedCount) == nil, "seed \(seed)")
  }
}
