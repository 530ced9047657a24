import Foundation
import HeartwoodTestSupport

/// The scale of the simulations.
///
/// It is short by default, long if the environment variable `HEARTWOOD_SIMULATION` is `long`, and
/// longest if the variable is `deep`.
enum SimulationScale {
  private static let scale = ProcessInfo.processInfo.environment["HEARTWOOD_SIMULATION"]
  static let isLong = scale == "long" || isDeep
  /// Whether explorations of schedules may take even longer than in a long run.
  static let isDeep = scale == "deep"

  /// Returns `count` in a short run, and `count` × `factor` in a long run.
  ///
  /// In a debug build, a short run uses a fifth of `count`.
  static func count(_ count: Int, timesWhenLong factor: Int) -> Int {
    if isLong { return count * factor }
    return TestBuild.isOptimised ? count : (count + 4) / 5
  }
}
