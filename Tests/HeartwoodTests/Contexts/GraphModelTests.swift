import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random work on a graph")
struct GraphModelTests {
  @Test(
    .evidence("C-01"), .evidence("R-01"), .evidence("R-02"), .evidence("R-03"), .evidence("S-07"),
    .evidence("G-01"), arguments: TestScale.seeds(quick: 3, all: 12))
  func `random edits equal those of a plain reference`(seed: UInt64) throws {
    let run = try GraphRun(seed: seed, tracksUndo: seed % 2 == 1)
    do {
      try run.run(steps: 400)
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }
}
