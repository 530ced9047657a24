/// All orders with few preemptions, or so many of them as there is time for.
///
/// Orders are counted by preemptions: switches away from a participant that could have gone on.
/// Those with none come first, then those with one, and so on, each once; turns that are taken
/// because somebody cannot go on cost nothing and are tried in every way. An order that would go on
/// from a state that another one with no more preemptions has gone on from, with the same
/// participant, would show nothing new and is left out.
package struct Exploration {
  /// The most preemptions in one order.
  package var preemptionBound: Int
  /// The most runs for each number of preemptions.
  package var runLimit: Int
  /// Decides which orders are run when there are more.
  package var seed: UInt64
  /// Which preemptions are tried.
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

  /// What was run.
  package struct Summary: Sendable {
    /// For each number of preemptions, the runs made and the orders there are, as far as known.
    package var runCounts: [(made: Int, known: Int)] = []
    package var runCount: Int { runCounts.reduce(0) { $0 + $1.made } }
    package var stepCount = 0
    /// What has come about, each told apart from the others by more than the order of steps that
    /// have nothing to do with each other.
    package var outcomes: Set<UInt64> = []
    /// Runs in which a clock decided otherwise than in the one before: orders of their own, from
    /// which none is derived.
    package var strayCount = 0
    /// The first order that went wrong, and how.
    package var failure: (switches: [Schedule.Switch], failures: [String], text: String)?

    /// As in `1 of 1, 40 of 40, 200 of 812`.
    package var text: String {
      runCounts.map { "\($0.made) of \($0.known)" }.joined(separator: ", ")
    }
  }

  /// Runs orders until one goes wrong.
  ///
  /// - Parameter attempt: Runs one order and returns its schedule.
  package func run(
    _ attempt: ([Schedule.Switch]) throws -> Schedule
  ) rethrows -> Summary {
    var summary = Summary()
    summary.runCounts = Array(repeating: (0, 0), count: preemptionBound + 1)
    var random = SeededGenerator(seed: seed)
    // Orders to be run, by the number of their preemptions.
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
      // Also before the last switch: what comes after it may race with a step there for the first
      // time.
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

  /// From where orders have gone on, with so many preemptions.
  private struct Starts {
    private var preemptionCounts: [UInt64: Int] = [:]

    /// Whether no order with as few preemptions has gone on from there.
    @discardableResult
    mutating func insert(_ start: UInt64, _ preemptionCount: Int) -> Bool {
      guard preemptionCount < preemptionCounts[start, default: .max] else { return false }
      preemptionCounts[start] = preemptionCount
      return true
    }
  }
}
