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

  /// Whether orders that show nothing new are left out.
  package var leavesOutEqual: Bool

  package init(
    preemptionBound: Int, runLimit: Int, seed: UInt64,
    preemptions: Schedule.Preemptions = .distinct, leavesOutEqual: Bool = true
  ) {
    self.preemptionBound = preemptionBound
    self.runLimit = runLimit
    self.seed = seed
    self.preemptions = preemptions
    self.leavesOutEqual = leavesOutEqual
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
    var seen = Starts()
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
        let first = (switches.last?.step ?? -1) + 1
        if leavesOutEqual { seen.insert(schedule.starts(from: first), preemptionCount) }
        let alternatives = schedule.alternatives(
          from: first, preemptionCount == preemptionBound ? .none : preemptions)
        for other in alternatives
        where !leavesOutEqual
          || seen.insert(other.start, preemptionCount + (other.isPreemption ? 1 : 0))
        {
          if other.isPreemption {
            next.append(switches + [other.change])
          } else {
            level.append(switches + [other.change])
            known += 1
          }
        }
      }
      summary.runCounts.append((made, known))
      level = next
    }
    return summary
  }

  /// From where orders have gone on, with so many preemptions.
  private struct Starts {
    private var preemptionCounts: [UInt64: Int] = [:]

    mutating func insert(_ starts: [UInt64], _ preemptionCount: Int) {
      for start in starts { insert(start, preemptionCount) }
    }

    /// Whether no order with as few preemptions has gone on from there.
    @discardableResult
    mutating func insert(_ start: UInt64, _ preemptionCount: Int) -> Bool {
      guard preemptionCount < preemptionCounts[start, default: .max] else { return false }
      preemptionCounts[start] = preemptionCount
      return true
    }
  }
}
