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

  private enum Outcome {
    /// One state of the history, sound in every part.
    case complete
    /// All that can be read is one state of the history, and verification names what is lost.
    case named
    /// Refused as damaged.
    case refused
  }

  /// Opens what a cut left.
  private func outcome(_ run: CrashHistory, _ disk: SimulatedDisk, _ context: String) -> Outcome? {
    do {
      let store = try Store(at: "/store", options: CrashHistory.options(), fileSystem: disk)
      let finding = try run.findingInContent(store, atLeast: 0)
      #expect(finding == nil, "\(context)")
      guard try store.verify().findings.isEmpty else { return .named }
      try store.write { try $0.keyspace("after").put("crash", [1]) }
      try StoreFixture.expectSound(store)
      return .complete
    } catch let error as StorageError {
      #expect(error.kind == .corrupt || error.kind == .notAStore, "\(context): \(error)")
      return .refused
    } catch {
      Issue.record("\(context): \(error)")
      return nil
    }
  }

  /// The page file is honest here: for a lost write of a page nothing can be told.
  ///
  /// Images of commits before the last that claims a sync are not looked at when a store is opened:
  /// one that is lost there and written again by a later commit harms no read, so that only
  /// verification meets it.
  @Test(.evidence("D2"), .evidence("D10"), arguments: [false, true])
  func `has a prefix of the commits or reports that something is missing`(alsoNames: Bool) throws {
    var outcomes: [Outcome: Int] = [:]
    for (number, steps) in Self.histories.enumerated() {
      let run = try run(steps) { path in
        path.contains("/wal-") || (alsoNames && !path.contains("/store/"))
      }
      for mode in CrashMode.allCases {
        for seed in 0..<SimulationScale.count(12, timesWhenLong: 3) {
          let disk = run.disk.crashed(.seeded(UInt64(seed), mode, [.staleGarbage]))
          let context = "history \(number), \(mode), seed \(seed)"
          if let outcome = outcome(run, disk, context) { outcomes[outcome, default: 0] += 1 }
        }
      }
    }
    let count = outcomes.values.reduce(0, +)
    let complete = outcomes[.complete] ?? 0
    let refused = outcomes[.refused] ?? 0
    print("crash states: \(count) (lying syncs: \(complete) whole, \(refused) refused)")
    #expect(complete > 0 && refused > 0)
  }
}
