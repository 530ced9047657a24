/// All orders with few preemptions, or as many of them as time allows.
///
/// Orders are counted by preemptions: switches away from a participant that could have continued.
/// Those with none come first, then those with one, and so on, each once; switches away from a
/// blocked participant cost nothing and are tried in every way. An order that would continue from a
/// state from which another one with no more preemptions has continued, with the same participant,
/// would show nothing new and is skipped.
package struct Exploration {
  /// The maximum number of preemptions in an order.
  package var preemptionBound: Int
  /// The maximum number of runs for each number of preemptions.
  package var runLimit: Int
  /// The seed that selects the orders to run if there are more.
  package var seed: UInt64
  /// The preemptions that are tried.
  package var preemptions: Schedule.Preemptions

  package init(
    preemptionBound: Int, runLimit: Int, seed: UInt64,
    preemptions: Schedule.Preemptions = .distinct
  ) {
    self.preemptionBound = preemptionBound
    self.runLimit = runLimit
    self.seed = seed
    self.preemptions = preemptions
  }

  /// The results of the runs.
  package struct Summary: Sendable {
    /// For each number of preemptions, the number of runs and that of the orders known.
    package var runCounts: [(made: Int, known: Int)] = []
    package var runCount: Int { runCounts.reduce(0) { $0 + $1.made } }
    package var stepCount = 0
    /// The outcomes, which differ in more than the order of independent steps.
    package var outcomes: Set<UInt64> = []
    /// Runs in which a clock decided differently than in the one before: orders of their own, from
    /// which none is derived.
    package var strayCount = 0
    /// The first order that failed, and its failure.
    package var failure: (switches: [Schedule.Switch], failures: [String], text: String)?

    /// As in `1 of 1, 40 of 40, 200 of 812`.
    package var text: String {
      runCounts.map { "\($0.made) of \($0.known)" }.joined(separator: ", ")
    }
  }

  /// Runs orders until one fails.
  ///
  /// - Parameter attempt: Runs one order and returns its schedule.
  package func run(
    _ attempt: ([Schedule.Switch]) throws -> Schedule
  ) rethrows -> Summary {
    var summary = Summary()
    summary.runCounts = Array(repeating: (0, 0), count: preemptionBound + 1)
    var random = SeededGenerator(seed: seed)
    // Orders still to run, by the number of their preemptions.
    var queues = [[[Schedule.Switch]]](repeating: [], count: preemptionBound + 1)
    var seen = Starts()
    queues[0] = [[]]
    summary.runCounts[0].known = 1
    while let count = queues.indices.first(where: {
      !queues[$0].isEmpty && summary.runCounts[$0].made < runLimit
    }) {
      queues[count].swapAt(random.below(queues[count].count), queues[count].count - 1)
      let switches = queues[count].removeLast()
      let schedule = try attempt(switches)
      summary.runCounts[count].made += 1
      summary.stepCount += schedule.stepCount
      guard schedule.failures.isEmpty else {
        summary.failure = (
          switches, schedule.failures, schedule.text(around: switches.map(\.step))
        )
        return summary
      }
      guard !schedule.isStray else {
        summary.strayCount += 1
        continue
      }
      summary.outcomes.insert(schedule.outcome)
      for (start, count) in schedule.starts { seen.insert(start, count) }
      // Also before the last switch: what follows it may race with a step there for the first time.
      for other in schedule.alternatives(preemptions)
      where other.preemptionCount <= preemptionBound
        && seen.insert(other.start, other.preemptionCount)
      {
        summary.runCounts[other.preemptionCount].known += 1
        queues[other.preemptionCount].append(
          switches.filter { $0.step < other.change.step } + [other.change])
      }
    }
    return summary
  }

  /// The states from which orders have continued, with the number of preemptions.
  private struct Starts {
    private var preemptionCounts: [UInt64: Int] = [:]

    /// Returns whether no order with as few preemptions has continued from there.
    @discardableResult
    mutating func insert(_ start: UInt64, _ preemptionCount: Int) -> Bool {
      guard preemptionCount < preemptionCounts[start, default: .max] else { return false }
      preemptionCounts[start] = preemptionCount
      return true
    }
  }
}
