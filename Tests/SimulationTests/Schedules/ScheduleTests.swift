import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The protocol of several processes, run by the engine itself, step by step, in every order with
/// few preemptions.
@Suite("A store whose processes take turns")
struct ScheduleTests {
  /// Runs for each number of preemptions; an unoptimised build is slow.
  private static let runLimit: Int = {
    if SimulationScale.isLong { return 20_000 }
    var isDebug = false
    assert({ isDebug = true }() == ())
    return isDebug ? 100 : 1000
  }()

  @Test(
    .evidence("I1"), .evidence("I2"), .evidence("I3"), .evidence("I5"), .evidence("I6"),
    .evidence("I7"), .evidence("I8"), arguments: ScheduleScenario.all)
  func `shows each of them whole generations in every order`(scenario: ScheduleScenario) throws {
    let summary = try Exploration(
      preemptionBound: SimulationScale.isLong ? 3 : 2, runLimit: Self.runLimit, seed: 1
    ).run { try ScheduledStores.run(scenario, $0) }
    let runCount = summary.runCounts.reduce(0) { $0 + $1.made }
    print(
      "schedules: \(scenario.name): \(runCount) runs, \(summary.stepCount) steps (\(summary.text))")
    if let failure = summary.failure {
      Issue.record("\(scenario.name), \(failure.switches): \(failure.failures)\n\(failure.text)")
    }
  }
}
