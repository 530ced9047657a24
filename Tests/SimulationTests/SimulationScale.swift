import Foundation

/// How long simulations run: a short pass in `swift test`, a long one where the environment
/// variable `HEARTWOOD_SIMULATION` is `long`.
enum SimulationScale {
  static let isLong = ProcessInfo.processInfo.environment["HEARTWOOD_SIMULATION"] == "long"

  /// `count` in a short run, `count` × `factor` in a long one.
  static func count(_ count: Int, timesWhenLong factor: Int) -> Int {
    isLong ? count * factor : count
  }
}
