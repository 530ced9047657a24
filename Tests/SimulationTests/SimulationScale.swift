import Foundation
import HeartwoodTestSupport

/// How long simulations run: a short pass in `swift test`, a long one where the environment
/// variable `HEARTWOOD_SIMULATION` is `long`, and the longest where it is `deep`.
enum SimulationScale {
  private static let scale = ProcessInfo.processInfo.environment["HEARTWOOD_SIMULATION"]
  static let isLong = scale == "long" || isDeep
  /// Whether orders of several processes are explored further than there is time for in a long run.
  static let isDeep = scale == "deep"

  /// `count` in a short run, `count` × `factor` in a long one; a fifth in a short one that is slow.
  static func count(_ count: Int, timesWhenLong factor: Int) -> Int {
    if isLong { return count * factor }
    return TestBuild.isOptimised ? count : (count + 4) / 5
  }
}
