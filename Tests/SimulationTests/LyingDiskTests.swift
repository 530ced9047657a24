import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Disks that report a sync and do nothing.
///
/// Acknowledged commits may be lost then, since no store can keep what the disk drops. But the
/// result is one state of the history, or an error that reports the loss.
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

  /// The disk after a history in which syncs do nothing from the opening on.
  private func run(_ steps: [Step], lies: @escaping (String) -> Bool) throws -> CrashHistory {
    let run = CrashHistory(disk: SimulatedDisk(seed: 2), seed: 2)
    try run.open()
    run.disk.liesAboutSync = lies
    try run.run(steps)
    run.abandon()
    return run
  }

  private enum Outcome {
    /// One state of the history, valid in every part.
    case complete
    /// Everything readable is one state of the history, and verification reports what is lost.
    case named
    /// Rejected as corrupt.
    case refused
  }

  /// Opens the remains of a cut.
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

  /// The page file is synced correctly here: a lost write of a page cannot be detected.
  ///
  /// Opening does not verify the images of commits below the last watermark: one that is lost there
  /// and written again by a later commit harms no read, so that only verification finds it.
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
