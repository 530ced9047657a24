import Foundation

/// Runs sequences of steps, and reduces a failing sequence to a shorter one.
enum InvariantShrinking {
  struct Failure: Error, CustomStringConvertible {
    let seed: UInt64
    let steps: [Int]
    let violation: String
    let trace: [String]

    var description: String {
      """
      seed \(seed), \(steps.count) steps: \(steps)
      \(trace.joined(separator: "\n"))
      \(violation)
      """
    }
  }

  /// The result of a run that failed.
  private struct Outcome {
    let invariant: String
    let violation: String
    let trace: [String]
    let stepCount: Int
  }

  private static func outcome(_ seed: UInt64, _ steps: [Int]) throws -> Outcome? {
    let run = try CrateRun(seed: seed)
    do {
      try run.run(steps)
      return nil
    } catch {
      return Outcome(
        invariant: (error as? InvariantViolation)?.invariant ?? "\(type(of: error))",
        violation: "\(error)", trace: run.trace, stepCount: run.stepCount)
    }
  }

  /// Runs random steps.
  ///
  /// - Throws: A ``Failure`` with the shortest sequence of steps that was found to violate the same
  ///   invariant.
  static func run(seed: UInt64, steps count: Int, shrinkingSeconds: Int) async throws {
    let steps = Array(0..<count)
    guard let first = try outcome(seed, steps) else { return }
    let short = await CrewShrinking.shrink(
      Array(steps.prefix(first.stepCount)), seconds: shrinkingSeconds
    ) { (try? outcome(seed, $0))?.invariant == first.invariant }
    let last = try outcome(seed, short) ?? first
    throw Failure(seed: seed, steps: short, violation: last.violation, trace: last.trace)
  }
}
