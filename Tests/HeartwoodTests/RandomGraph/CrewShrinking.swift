/// Runs sequences of steps, and reduces a failing sequence to a shorter one.
enum CrewShrinking {
  struct Failure: Error, CustomStringConvertible {
    let seed: UInt64
    let setting: CrewSetting
    let mismatch: String
    let trace: [String]

    var description: String {
      """
      seed \(seed), \(setting)
      \(trace.joined(separator: "\n"))
      \(mismatch)
      """
    }
  }

  private static func failure(
    _ setting: CrewSetting, _ steps: [CrewStep]
  ) -> (mismatch: String, trace: [String])? {
    do {
      let run = try CrewRun(setting)
      do {
        try run.run(steps)
        return nil
      } catch {
        return ("\(error)", run.trace)
      }
    } catch {
      return ("\(error)", [])
    }
  }

  /// Runs random steps.
  ///
  /// - Returns: The number of times that each operation was performed.
  /// - Throws: A ``Failure`` with the shortest failing sequence of steps that was found.
  static func run(
    seed: UInt64, _ setting: CrewSetting, steps count: Int
  ) async throws -> [String: Int] {
    let steps = CrewStep.random(count, seed: seed)
    let run = try CrewRun(setting)
    do {
      try run.run(steps)
      return run.counts
    } catch {
      let short = await shrink(Array(steps.prefix(run.stepNumber))) { failure(setting, $0) != nil }
      let found = failure(setting, short)
      throw Failure(
        seed: seed, setting: setting, mismatch: found?.mismatch ?? "\(error)",
        trace: found?.trace ?? run.trace.suffix(40))
    }
  }

  /// Removes steps, first in chunks and then one by one, as long as the remaining steps still fail.
  ///
  /// Stops after one second for every 50 steps, but not before `seconds` have passed.
  static func shrink<Step>(
    _ steps: [Step], seconds: Int = 15, fails: ([Step]) async -> Bool
  ) async -> [Step] {
    var steps = steps
    var size = max(1, steps.count / 2)
    var budget = 3000
    let end = ContinuousClock.now + .seconds(max(seconds, steps.count / 50))
    while true {
      var position = 0
      var isShorter = false
      while position < steps.count, budget > 0, ContinuousClock.now < end {
        budget -= 1
        var rest = steps
        rest.removeSubrange(position..<min(position + size, rest.count))
        if await fails(rest) {
          steps = rest
          isShorter = true
        } else {
          position += size
        }
      }
      if size == 1 && !isShorter || budget == 0 || ContinuousClock.now >= end { return steps }
      size = max(1, size / 2)
    }
  }
}
