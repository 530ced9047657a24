import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests attempts to open files that fail as if the process had no descriptors left.
@Suite("A store that cannot open a file")
struct ScarceDescriptorTests {
  private static let steps: [Step] = [
    .write(.full, operationCount: 3, valueByteCount: 9000), .keep("x"),
    .write(.normal, operationCount: 3, valueByteCount: 9000), .pin, .checkpoint,
    .write(.full, operationCount: 3, valueByteCount: 9000), .unpin, .release("x"), .checkpoint,
    .write(.full, operationCount: 2, valueByteCount: 100),
  ]

  @Test(.evidence("F5"))
  func `reports it, loses nothing, and keeps its locks`() throws {
    let complete = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try complete.run(Self.steps)
    var errorCount = 0
    let step = TestScale.pick(quick: 3, all: 1)
    for number in stride(from: 1, through: complete.disk.openCount, by: step) {
      let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
      run.disk.faultPlan = .failingOpen(number)
      let context = "opening \(number)"
      var isOpen = false
      for attempt in 0..<2 where !isOpen {
        do {
          try run.open()
          isOpen = true
        } catch let error as StorageError {
          #expect(error.errno == 24 && attempt == 0, "\(context): \(error)")
          errorCount += 1
        }
      }
      for step in Self.steps {
        do { try run.run(step) } catch let error as StorageError {
          #expect(error.errno == 24 || error.kind == .writesDisabled, "\(context): \(error)")
          errorCount += 1
        }
        #expect(try run.findingInPinned() == nil, "\(context)")
      }
      // The store must still hold the lock that marks it as open.
      let locks = StoreLocks(
        file: try #require(try run.disk.open("/store/locks", .write)))
      #expect(try locks.isLockedElsewhere(byte: LockByte.presenceReadWrite), "\(context)")
      run.abandon()
      let again = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: run.disk.killed())
      #expect(try run.finding(in: again, atLeast: run.acknowledgedCount) == nil, "\(context)")
      run.expectPrefix(on: run.disk.crashed(.nothing), context)
    }
    print("openings that failed: \(complete.disk.openCount), errors: \(errorCount)")
    #expect(errorCount > 10 / step)
  }

  /// From a certain call on, all calls that change something fail, including the calls made while
  /// the store is closed.
  @Test(.evidence("F5"), arguments: [StorageError.Kind.io, .diskFull])
  func `can be closed when every call fails`(kind: StorageError.Kind) throws {
    let complete = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
    try complete.open()
    let before = complete.disk.callCount
    try complete.run(Self.steps)
    for call in stride(from: before + 1, through: complete.disk.callCount, by: 3) {
      let context = "call \(call)"
      let run = CrashHistory(disk: SimulatedDisk(seed: 7), seed: 7)
      try run.open()
      run.disk.faultPlan = .failure(kind, atCall: call, isLasting: true, leavesPart: true)
      for step in Self.steps {
        do { try run.run(step) } catch is StorageError {}
      }
      let calls = run.disk.callCount
      let store = try #require(run.store)
      #expect(throws: StorageError.self, "\(context)") { try store.close() }
      // Closing must fail at once, without retrying.
      #expect(run.disk.callCount - calls < 40, "\(context)")
      run.abandon()
      run.disk.faultPlan = FaultPlan()
      let again = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: run.disk)
      #expect(try run.finding(in: again, atLeast: run.durableCount) == nil, "\(context)")
      try again.close()
    }
  }
}
