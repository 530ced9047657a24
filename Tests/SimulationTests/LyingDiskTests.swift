import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests disks that report successful syncs without syncing anything.
///
/// No store can preserve what such a disk drops, so acknowledged commits may be lost. However, the
/// store must either show one state of the history or report the loss as an error.
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

  /// Runs the steps on a new disk.
  ///
  /// Once the store is open, the disk ignores syncs of the paths for which `lies` is true.
  private func run(_ steps: [Step], lies: @escaping (String) -> Bool) throws -> CrashHistory {
    let run = CrashHistory(disk: SimulatedDisk(seed: 2), seed: 2)
    try run.open()
    run.disk.liesAboutSync = lies
    try run.run(steps)
    run.abandon()
    return run
  }

  private enum Outcome {
    /// The store has the contents of one commit, and verification succeeds.
    case complete
    /// The store has the contents of one commit and all of them can be read, but verification
    /// reports losses.
    case named
    /// The store is rejected as corrupt.
    case refused
  }

  /// Opens the store after a power cut, and classifies the result.
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

  /// The page file is always synced correctly in this test, because a lost write to it cannot be
  /// detected.
  ///
  /// Opening does not verify the images of commits below the last durable watermark. If a later
  /// commit has written the page again, the loss of such an image affects no read, and only
  /// verification detects it.
  @Test(.evidence("D2"), .evidence("D10"), arguments: [false, true])
  func `has a prefix of the commits or reports that something is missing`(alsoNames: Bool) throws {
    var outcomes: [Outcome: Int] = [:]
    for (number, steps) in Self.histories.enumerated() {
      let run = try run(steps) { path in
        path.contains("/wal-") || (alsoNames && !path.contains("/store/"))
      }
      for mode in CrashMode.allCases {
        for seed in 0..<TestScale.pick(quick: 3, all: 12, long: 36) {
          let disk = run.disk.crashed(.seeded(UInt64(seed), mode, [.staleGarbage]))
          let context = "history \(number), \(mode), seed \(seed)"
          if let outcome = outcome(run, disk, context) { outcomes[outcome, default: 0] += 1 }
        }
      }
    }
    let count = outcomes.values.reduce(0, +)
    let complete = outcomes[.complete] ?? 0
    let refused = outcomes[.refused] ?? 0
    print("crash states: \(count) (lying syncs: \(complete) complete, \(refused) rejected)")
    #expect(complete > 0 && refused > 0)
  }
}
