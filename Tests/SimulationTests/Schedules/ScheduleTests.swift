import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests the protocol between processes by running the engine step by step, in every order with few
/// preemptions.
@Suite("A store whose processes take turns")
struct ScheduleTests {
  /// Returns the maximum number of runs for each number of preemptions.
  ///
  /// Long runs explore all orders of two or three participants. Other runs are limited to save
  /// time.
  private static func runLimit(_ scenario: ScheduleScenario) -> Int {
    if TestScale.current == .deep { return .max }
    return TestScale.pick(quick: 5, all: 150, long: scenario.roles.count > 3 ? 600 : .max)
  }

  @Test(
    .evidence("I1"), .evidence("I2"), .evidence("I3"), .evidence("I5"), .evidence("I6"),
    .evidence("I7"), .evidence("I8"), arguments: TestScale.some(ScheduleScenario.all, every: 5))
  func `shows each of them complete generations in every order`(scenario: ScheduleScenario) throws {
    let summary = Exploration(
      preemptionBound: TestScale.current == .deep ? 3 : 2, runLimit: Self.runLimit(scenario),
      seed: TestScale.firstSeed + 1
    ).run { ScheduledStores.run(scenario, $0) }
    print(
      "schedules: \(scenario.name): \(summary.runCount) runs, \(summary.stepCount) steps "
        + "(\(summary.text)), \(summary.outcomes.count) outcomes")
    #expect(summary.strayCount <= summary.runCount / 10)
    if let failure = summary.failure {
      Issue.record("\(scenario.name), \(failure.switches): \(failure.failures)\n\(failure.text)")
    }
  }

  /// Detects accesses that are not steps of the schedule, and accesses that a step does not
  /// declare.
  @Test(
    .enabled(if: TestScale.current >= .long),
    arguments: ["writer with maintenance, reader", "opener, writer"])
  func `skips no order with a different outcome`(scenario: String) throws {
    let scenario = try #require(ScheduleScenario.all.first { $0.name == scenario })
    let explored = [Schedule.Preemptions.all, .distinct].map {
      Exploration(preemptionBound: 2, runLimit: .max, seed: 1, preemptions: $0)
        .run { ScheduledStores.run(scenario, $0) }
    }
    #expect(explored[0].outcomes == explored[1].outcomes)
    #expect(explored[1].runCount < explored[0].runCount / 8)
    print("schedules: \(scenario.name): \(explored[1].runCount) of \(explored[0].runCount)")
  }

  /// Orders that are run separately.
  ///
  /// To investigate a failed order, add the switches that its failure has printed.
  private static let replays: [(scenario: String, switches: [Schedule.Switch])] = [
    // A reader loads the newest generation. Another participant then commits, and a maintenance run
    // begins.
    (
      "writer with maintenance, reader",
      [Schedule.Switch(0, to: 1), Schedule.Switch(2, to: 0), Schedule.Switch(57, to: 1)]
    )
  ]

  @Test(arguments: replays)
  func `is deterministic in the same order`(
    scenario: String, switches: [Schedule.Switch]
  ) throws {
    let scenario = try #require(ScheduleScenario.all.first { $0.name == scenario })
    let runs = (0..<2).map { _ in ScheduledStores.run(scenario, switches) }
    let stepIndices = Array(0..<runs[0].stepCount)
    #expect(!runs[0].isStray && !runs[1].isStray)
    #expect(runs[0].failures == [], "\(runs[0].text(around: stepIndices))")
    #expect(runs[0].text(around: stepIndices) == runs[1].text(around: stepIndices))
  }
}
