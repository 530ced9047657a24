import Foundation
import HeartwoodTestSupport
import Synchronization
import Testing

/// Counts the steps of all runs, and prints their number when the suite has ended.
private struct InvariantStepCount: SuiteTrait, TestScoping {
  private static let count = Atomic(0)

  static func add(_ steps: Int) { count.add(steps, ordering: .relaxed) }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: () async throws -> Void
  ) async throws {
    try await function()
    print("invariants: \(Self.count.load(ordering: .relaxed)) steps")
  }
}

@Suite("Invariants of random work", InvariantStepCount())
struct GraphInvariantsTests {
  private static let stepCount = 120

  @Test(
    .evidence("R-01"), .evidence("R-02"), .evidence("R-04"), .evidence("R-11"), .evidence("C-01"),
    .evidence("C-05"), .evidence("C-06"), .evidence("C-17"), .evidence("D-03"), .evidence("D-09"),
    .evidence("F-09"), .evidence("G-01"), .evidence("G-02"), .evidence("LR-01"),
    .evidence("LR-02"), .evidence("LR-04"), .evidence("LR-05"), .evidence("N-01"),
    .evidence("N-02"), .evidence("P-09"), .evidence("QG-04"), .evidence("QG-53"),
    .evidence("QG-54"), .evidence("QG-58"), .evidence("S-05"), .evidence("S-06"),
    .evidence("S-07"), .evidence("U-01"), arguments: TestScale.seeds(quick: 1, all: 20, long: 2000))
  func `random work in several contexts keeps the invariants`(seed: UInt64) async {
    do {
      try await InvariantShrinking.run(
        seed: seed, steps: Self.stepCount,
        shrinkingSeconds: TestScale.chosenSeeds == nil ? 30 : 600)
      InvariantStepCount.add(Self.stepCount)
    } catch {
      Issue.record("\(error)")
    }
  }
}
