/// Runs sequences of steps, and finds a short one that fails.
enum CrewShrinking {
  struct Failure: Error, CustomStringConvertible {
    let seed: UInt64
    let setting: CrewSetting
    let steps: [CrewStep]
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

  /// Takes random steps.
  ///
  /// - Returns: How often each operation was done.
  /// - Throws: A ``Failure`` with as few steps as were found to fail.
  static func run(
    seed: UInt64, _ setting: CrewSetting, steps count: Int
  ) throws -> [String: Int] {
    let steps = CrewStep.random(count, seed: seed)
    let run = try CrewRun(setting)
    do {
      try run.run(steps)
      return run.counts
    } catch {
      let short = shrink(setting, Array(steps.prefix(run.stepNumber)))
      let found = failure(setting, short)
      throw Failure(
        seed: seed, setting: setting, steps: short, mismatch: found?.mismatch ?? "\(error)",
        trace: found?.trace ?? run.trace.suffix(40))
    }
  }

  /// Leaves steps out as long as the rest fails: chunks, then single ones.
  private static func shrink(_ setting: CrewSetting, _ steps: [CrewStep]) -> [CrewStep] {
    var steps = steps
    var size = max(1, steps.count / 2)
    var budget = 3000
    let end = ContinuousClock.now + .seconds(15)
    while true {
      var position = 0
      var isShorter = false
      while position < steps.count, budget > 0, ContinuousClock.now < end {
        budget -= 1
        var rest = steps
        rest.removeSubrange(position..<min(position + size, rest.count))
        if failure(setting, rest) != nil {
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
