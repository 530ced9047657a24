import Foundation
import HeartwoodTestSupport

/// The scale of simulations: short in `swift test`, long if the environment variable
/// `HEARTWOOD_SIMULATION` is `long`, and longest if it is `deep`.
enum SimulationScale {
  private static let scale = ProcessInfo.processInfo.environment["HEARTWOOD_SIMULATION"]
  static let isLong = scale == "long" || isDeep
  /// Whether orders of several processes are explored beyond the time of a long run.
  static let isDeep = scale == "deep"

  /// `count` in a short run, `count` × `factor` in a long one; a fifth in a short one of a debug
  /// build.
  static func count(_ count: Int, timesWhenLong factor: Int) -> Int {
    if isLong { return count * factor }
    return TestBuild.isOptimised ? count : (count + 4) / 5
  }
}
