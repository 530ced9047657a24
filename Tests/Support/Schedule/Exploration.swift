/// All orders with few preemptions, or so many of them as there is time for.
///
/// Orders are counted by preemptions: switches away from a participant that could have gone on.
/// Those with none come first, then those with one, and so on, each once; turns that are taken
/// because somebody cannot go on cost nothing and are tried in every way.
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
    preemptionBound: Int, runLimit: Int, seed: UInt64, preemptions: Schedule.Preemptions = .distinct
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
    var random = SeededGenerator(seed: seed)
    var level: [[Schedule.Switch]] = [[]]
    for preemptionCount in 0...preemptionBound {
      var next: [[Schedule.Switch]] = []
      var made = 0
      var known = level.count
      level.shuffle(using: &random)
      while made < runLimit, let switches = level.popLast() {
        let schedule = try attempt(switches)
        made += 1
        summary.stepCount += schedule.stepCount
        if !schedule.failures.isEmpty {
          summary.failure = (
            switches, schedule.failures, schedule.text(around: switches.map(\.step))
          )
          summary.runCounts.append((made, known))
          return summary
        }
        if schedule.isStray {
          summary.strayCount += 1
          continue
        }
        let alternatives = schedule.alternatives(
          from: (switches.last?.step ?? -1) + 1,
          preemptionCount == preemptionBound ? .none : preemptions)
        for (change, isPreemption) in alternatives {
          if isPreemption {
            next.append(switches + [change])
          } else {
            level.append(switches + [change])
            known += 1
          }
        }
      }
      summary.runCounts.append((made, known))
      level = next
    }
    return summary
  }
}
