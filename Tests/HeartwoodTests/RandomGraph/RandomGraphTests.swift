import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random work on a graph of every kind of relationship")
struct RandomGraphTests {
  private static let isLong =
    ProcessInfo.processInfo.environment["HEARTWOOD_SIMULATION"] == "long"
  private static let seeds = 0..<(isLong ? 400 : 40) as Range<UInt64>
  private static let stepCount = isLong ? 10_000 : 1000
  /// Those that hold while a save in conflict may write rows that it leaves as they are.
  private static let mergedSeeds = (0..<(isLong ? 400 : 16) as Range<UInt64>).filter { $0 != 9 }
  /// Those that hold while a long sequence may be taken back otherwise than the reference does.
  private static let undoneSeeds = 0..<(isLong ? 400 : 16) as Range<UInt64>
  /// Those that hold while new objects that meet rows take or keep the wrong partner at times.
  private static let metSeeds = 0..<(isLong ? 400 : 24) as Range<UInt64>

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
    .evidence("H-01"), .evidence("H-02"), arguments: seeds)
  func `in one context leads to what a reference holds`(seed: UInt64) { run("one", seed) }

  @Test(.evidence("G-01"), arguments: undoneSeeds)
  func `is taken back and done again`(seed: UInt64) {
    run("undo", seed, steps: Self.isLong ? Self.stepCount : 400)
  }

  @Test(
    .evidence("C-03"), .evidence("C-11"), .evidence("C-12"), .evidence("C-13"), .evidence("C-14"),
    .evidence("C-15"), .evidence("BR-01"), .evidence("BR-02"), .evidence("BR-03"),
    .evidence("BR-04"), .evidence("BR-05"), .evidence("BR-06"), .evidence("BR-07"),
    arguments: metSeeds)
  func `meets rows with the same unique values under every policy`(seed: UInt64) {
    run("policy", seed)
  }

  @Test(
    .evidence("C-02"), .evidence("C-06"), .evidence("C-07"), .evidence("C-08"), .evidence("C-09"),
    .evidence("C-10"), .evidence("R-11"), .evidence("QG-26"), .evidence("QG-27"),
    .evidence("QG-54"), .evidence("QG-55"), arguments: mergedSeeds)
  func `of several contexts is merged under every policy`(seed: UInt64) {
    run("several", seed, steps: Self.isLong ? Self.stepCount : 400)
  }
}
