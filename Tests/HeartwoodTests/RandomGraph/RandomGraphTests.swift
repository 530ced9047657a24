import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random work on a graph of every kind of relationship")
struct RandomGraphTests {
  private static let isLong =
    ProcessInfo.processInfo.environment["HEARTWOOD_SIMULATION"] == "long"
  private static let stepCount = isLong ? 10_000 : 1000

  /// The seeds of a run, without those in which something is open.
  private static func seeds(_ count: UInt64, except open: Set<UInt64> = []) -> [UInt64] {
    (0..<(isLong ? 400 : count)).filter { !open.contains($0) }
  }

  /// Takes random steps, and says how often each operation was done.
  private func run(_ name: String, _ seed: UInt64, steps: Int = stepCount) {
    do {
      let counts = try CrewShrinking.run(
        seed: seed, .named(name, seed: seed), steps: steps)
      CrewCounts.add(counts)
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test(
    .evidence("C-01"), .evidence("C-04"), .evidence("C-05"), .evidence("C-06"), .evidence("R-01"),
    .evidence("R-02"), .evidence("R-03"), .evidence("R-04"), .evidence("R-05"), .evidence("R-06"),
    .evidence("R-10"), .evidence("S-02"), .evidence("S-03"), .evidence("S-05"), .evidence("S-06"),
    .evidence("S-07"), .evidence("U-01"), .evidence("U-07"), .evidence("N-01"), .evidence("N-02"),
    .evidence("H-01"), .evidence("H-02"), arguments: seeds(120))
  func `in one context leads to what a reference holds`(seed: UInt64) { run("one", seed) }

  // Open in 17: an object that was taken back and inserted again while it leads to itself.
  @Test(.evidence("G-01"), arguments: seeds(40, except: [17]))
  func `is taken back and done again`(seed: UInt64) {
    run("undo", seed, steps: Self.isLong ? Self.stepCount : 400)
  }

  @Test(
    .evidence("C-03"), .evidence("C-11"), .evidence("C-12"), .evidence("C-13"), .evidence("C-14"),
    .evidence("C-15"), .evidence("BR-01"), .evidence("BR-02"), .evidence("BR-03"),
    .evidence("BR-04"), .evidence("BR-05"), .evidence("BR-06"), .evidence("BR-07"),
    // Open in 28: the partner of a new object that gives way to the row it meets.
    arguments: seeds(50, except: [28]))
  func `meets rows with the same unique values under every policy`(seed: UInt64) {
    run("policy", seed)
  }

  @Test(
    .evidence("C-02"), .evidence("C-06"), .evidence("C-07"), .evidence("C-08"), .evidence("C-09"),
    .evidence("C-10"), .evidence("R-11"), .evidence("QG-26"), .evidence("QG-27"),
    .evidence("QG-54"), .evidence("QG-55"),
    // Open in 37: what a fetch finds of an object that was set to the value it has, when others
    // have deleted its row.
    arguments: seeds(40, except: [37]))
  func `of several contexts is merged under every policy`(seed: UInt64) {
    run("several", seed, steps: Self.isLong ? Self.stepCount : 400)
  }
}
