import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Disks that report a sync and do nothing.
///
/// Acknowledged commits may be lost then, since nobody can keep what is not kept. But what is left
/// is one state of the history, or an error that says that something is missing.
@Suite("A store on a disk whose syncs lie")
struct LyingDiskTests {
  private static let histories: [[Step]] = [
    [Step](repeating: .write(.full, operationCount: 2, valueByteCount: 300), count: 6),
    [
      .write(.full, operationCount: 2, valueByteCount: 9000),
      .write(.full, operationCount: 2, valueByteCount: 100), .reopen,
      .write(.normal, operationCount: 2, valueByteCount: 3000),
      .write(.full, operationCount: 2, valueByteCount: 100),
    ],
  ]

  /// The disk a history leaves when syncs lie from its opening on.
  private func run(_ steps: [Step], lies: @escaping (String) -> Bool) throws -> CrashHistory {
    let run = CrashHistory(disk: SimulatedDisk(seed: 2), seed: 2)
    try run.open()
    run.disk.liesAboutSync = lies
    try run.run(steps)
    run.abandon()
    return run
  }

  /// Opens what a cut left; false if that was refused as damaged.
  private func isOneState(_ run: CrashHistory, _ disk: SimulatedDisk, _ place: String) -> Bool {
    do {
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      let finding = try run.finding(in: store, atLeast: 0)
      #expect(finding == nil, "\(place)")
      try store.write { try $0.keyspace("after").put("crash", [1]) }
      try StoreFixture.expectSound(store)
      return true
    } catch let error as StorageError {
      #expect(error.kind == .corrupt || error.kind == .notAStore, "\(place): \(error)")
      return false
    } catch {
      Issue.record("\(place): \(error)")
      return false
    }
  }

  /// The page file is honest here: for a lost write of a page nothing can be told.
  @Test(.evidence("D2"), .evidence("D10"), arguments: [false, true])
  func `holds a prefix or says that something is missing`(alsoNames: Bool) throws {
    var outcomes: [Bool: Int] = [:]
    for (number, steps) in Self.histories.enumerated() {
      let run = try run(steps) { path in
        path.contains("/wal-") || (alsoNames && !path.contains("/store/"))
      }
      for mode in CrashMode.allCases {
        for seed in 0..<SimulationScale.count(12, timesWhenLong: 10) {
          let disk = run.disk.crashed(.seeded(UInt64(seed), mode, [.staleGarbage]))
          let isOpen = isOneState(run, disk, "history \(number), \(mode), seed \(seed)")
          outcomes[isOpen, default: 0] += 1
        }
      }
    }
    print("crash states: \(outcomes) opened or refused (lying syncs)")
    #expect(outcomes.count == 2)
  }
}
