import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Cuts the power while footers are written, and then opens the stores with the remaining footers.
@Suite("Footers after a power cut")
struct FooterCrashTests {
  /// Returns steps with enough commits to fill several segments, some of which are never synced.
  private static func steps(seed: UInt64) -> [Step] {
    var generator = SeededGenerator(seed: seed)
    return (0..<45).map { _ in
      switch generator.next() % 10 {
      case 0: .pin
      case 1: .checkpoint
      case 2, 3: .write(.normal, operationCount: 2, valueByteCount: 200)
      case 4: .write(.full, operationCount: 2, valueByteCount: 15_000)
      default: .write(.full, operationCount: 1, valueByteCount: 100)
      }
    }
  }

  /// Returns a copy of the disk on which the magic numbers of all footers have been erased.
  private func withoutFooters(_ disk: SimulatedDisk) throws -> SimulatedDisk {
    let copy = disk.killed()
    let options = CrashHistory.options()
    let geometry = try #require(
      Geometry(pageByteCount: options.pageByteCount, segmentByteCount: options.segmentByteCount))
    for name in try copy.list("/store") ?? [] where name.hasPrefix("wal-") {
      let file = try #require(try copy.open("/store/" + name, .write))
      if try file.byteCount() > geometry.footerOffset {
        try file.write([0, 0, 0, 0], at: geometry.footerOffset)
      }
    }
    return copy
  }

  @Test(
    .evidence("D1"), .evidence("D2"), .evidence("D3"), .evidence("D8"), .evidence("D9"),
    arguments: TestScale.seeds(quick: 2, all: 6))
  func `lead to the same state as the group headers`(seed: UInt64) throws {
    let steps = Self.steps(seed: seed)
    let complete = CrashHistory(disk: SimulatedDisk(seed: seed), seed: seed)
    try complete.run(steps)
    var footerCount = 0
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<TestScale.pick(quick: 7, all: 50, long: 100) {
      let call = Int(generator.next() % UInt64(complete.callCount)) + 1
      let run = CrashHistory(
        disk: SimulatedDisk(
          seed: seed, faultPlan: .powerCut(atCall: call, leavesPart: generator.next() % 2 == 0)),
        seed: seed)
      do { try run.run(steps) } catch is StorageError {}
      run.abandon()
      for mode in CrashMode.allCases {
        let options: CrashOptions =
          generator.next() % 2 == 0 ? [] : [.unorderedNames, .staleGarbage]
        let disk = run.disk.crashed(.seeded(generator.next(), mode, options))
        footerCount += try compare(run, disk, "seed \(seed), cut at call \(call), mode \(mode)")
      }
    }
    print("footers used after power cuts: \(footerCount) (seed \(seed))")
    #expect(footerCount > 2)
  }

  /// Opens the store after a power cut, both with and without footers, and compares the results.
  ///
  /// - Returns: The number of footers that were used.
  private func compare(
    _ run: CrashHistory, _ disk: SimulatedDisk, _ context: String
  ) throws -> Int {
    do {
      let plain = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: withoutFooters(disk))
      #expect(plain.recovery.segmentFooterCount == 0, "\(context)")
      let store = try Store(
        at: "/store", options: CrashHistory.options(), fileSystem: disk)
      #expect(store.recovery.commitCount == plain.recovery.commitCount, "\(context)")
      #expect(
        try CrashHistory.number(of: store.snapshot())
          == CrashHistory.number(of: plain.snapshot()), "\(context)")
      let finding = try run.finding(in: store, atLeast: run.durableCount)
      #expect(finding == nil, "\(context)")
      // A valid footer proves that the commits it lists are durable, so the store must still be
      // sound after a write.
      try store.write { try $0.keyspace("after").put("crash", [1]) }
      #expect(try store.verify().findings == [], "\(context)")
      return store.recovery.segmentFooterCount
    } catch {
      Issue.record("\(context): \(error)")
      return 0
    }
  }
}
