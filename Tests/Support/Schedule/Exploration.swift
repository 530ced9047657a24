/// Runs all orders of steps with few preemptions, up to the given limits.
///
/// A preemption is a switch away from a participant that could have continued. Orders without
/// preemptions are run first, then orders with one preemption, and so on. Each order is run once.
/// Switches away from a blocked participant are not preemptions, and all of them are tried. An
/// order is skipped if an order with no more preemptions has already continued from the same state
/// with the same participant, because the new order would show nothing new.
package struct Exploration {
  /// The maximum number of preemptions in an order.
  package var preemptionBound: Int
  /// The maximum number of runs with each number of preemptions.
  package var runLimit: Int
  /// The seed that selects which orders are run if there are more than `runLimit`.
  package var seed: UInt64
  /// The kinds of preemptions that are tried.
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

  /// The results of an exploration.
  package struct Summary: Sendable {
    /// For each number of preemptions, the number of orders that were run, and the number of orders
    /// that were found.
    package var runCounts: [(made: Int, known: Int)] = []
    package var runCount: Int { runCounts.reduce(0) { $0 + $1.made } }
    package var stepCount = 0
    /// The distinct outcomes of the runs.
    ///
    /// Orders that differ only in the order of independent steps have the same outcome.
    package var outcomes: Set<UInt64> = []
    /// The number of runs that could not follow the requested order because a participant depended
    /// on the clock.
    ///
    /// No further orders are derived from these runs.
    package var strayCount = 0
    /// The first order that failed, its failures, and the steps near its switches.
    package var failure: (switches: [Schedule.Switch], failures: [String], text: String)?

    /// The run counts as text, for example `1 of 1, 40 of 40, 200 of 812`.
    package var text: String {
      runCounts.map { "\($0.made) of \($0.known)" }.joined(separator: ", ")
    }
  }

  /// Runs orders until one fails or the limits are reached.
  ///
  /// - Parameter attempt: A function that runs one order and returns the resulting schedule.
  package func run(
    _ attempt: ([Schedule.Switch]) throws -> Schedule
  ) rethrows -> Summary {
    var summary = Summary()
    summary.runCounts = Array(repeating: (0, 0), count: preemptionBound + 1)
    var random = SeededGenerator(seed: seed)
    // The orders that have not been run yet, indexed by their number of preemptions.
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
      // Also try switches before the last switch of this order. A step there may race with a step
      // after the last switch, and no earlier order had this race.
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

  /// The states from which orders have continued, each with the smallest number of preemptions that
  /// led to it.
  private struct Starts {
    private var preemptionCounts: [UInt64: Int] = [:]

    /// Adds a state, or returns `false` if an order with no more preemptions has already continued
    /// from it.
    @discardableResult
    mutating func insert(_ start: UInt64, _ preemptionCount: Int) -> Bool {
      guard preemptionCount < preemptionCounts[start, default: .max] else { return false }
      preemptionCounts[start] = preemptionCount
      return true
    }
  }
}
