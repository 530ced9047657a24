import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random work on a graph with all kinds of relationships", CrewCounts())
struct RandomGraphTests {
  private static let stepCount = TestScale.pick(quick: 1000, all: 1000, long: 2500)
  private static let shortStepCount = TestScale.pick(quick: 400, all: 400, long: 2500)

  private static func seeds(_ count: UInt64) -> [UInt64] {
    TestScale.seeds(quick: (count + 59) / 60, all: count, long: 2000)
  }

  /// Takes random steps, and counts how often each operation was performed.
  private func run(_ name: String, _ seed: UInt64, steps: Int = stepCount) async {
    do {
      let counts = try await CrewShrinking.run(
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
    .evidence("F-13"), .evidence("H-01"), .evidence("H-02"), arguments: seeds(120))
  func `random work in one context equals a reference`(seed: UInt64) async {
    await run("one", seed)
  }

  @Test(.evidence("G-01"), arguments: seeds(40))
  func `random work can be undone and redone`(seed: UInt64) async {
    await run("undo", seed, steps: Self.shortStepCount)
  }

  @Test(.evidence("G-03"), arguments: seeds(40))
  func `random work can be undone and redone across saves`(seed: UInt64) async {
    await run("saved undo", seed, steps: Self.shortStepCount)
  }

  @Test(
    .evidence("C-03"), .evidence("C-11"), .evidence("C-12"), .evidence("C-13"), .evidence("C-14"),
    .evidence("C-15"), .evidence("BR-01"), .evidence("BR-02"), .evidence("BR-03"),
    .evidence("BR-04"), .evidence("BR-05"), .evidence("BR-06"), .evidence("BR-07"),
    arguments: seeds(50))
  func `upserts under every merge policy equal a reference`(seed: UInt64) async {
    await run("policy", seed)
  }

  @Test(
    .evidence("C-02"), .evidence("C-06"), .evidence("C-07"), .evidence("C-08"), .evidence("C-09"),
    .evidence("C-10"), .evidence("R-11"), .evidence("QG-26"), .evidence("QG-27"),
    .evidence("QG-12"), .evidence("QG-16"), .evidence("QG-54"), .evidence("QG-55"),
    arguments: seeds(40))
  func `random work in several contexts merges under every policy`(seed: UInt64) async {
    await run("several", seed, steps: Self.shortStepCount)
  }

  @Test(
    .spawning, .evidence("C-02"), .evidence("C-06"), .evidence("H-01"), .evidence("H-02"),
    .evidence("QG-27"), arguments: seeds(6).prefix(TestScale.pick(quick: 2, all: 6, long: 200)))
  func `random work continues in other processes and after reopening`(seed: UInt64) async throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path(of: "store")
    let stepCount = TestScale.pick(quick: 150, all: 150, long: 1000)
    let relay = CrewRelay(seed: seed, stepCount: stepCount)
    let counts = try await relay.run(at: path) { turn in
      try await #require(processExitsWith: .success) {
        [
          path = path as String, stepCount = stepCount as Int, seed = seed as UInt64,
          turn = turn as Int
        ] in
        try CrewRelay(seed: seed, stepCount: stepCount).takeTurn(turn, at: path)
      }
    }
    CrewCounts.add(counts)
  }
}
