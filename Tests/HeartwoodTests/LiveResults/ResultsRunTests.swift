import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random live results")
struct ResultsRunTests {
  @Test(.evidence("LR-01"), arguments: TestScale.seeds(quick: 1, all: 6))
  func `live results equal a fetch after every kind of change`(seed: UInt64) throws {
    let run = try ResultsRun(seed: seed)
    let steps = TestScale.pick(quick: 80, all: 250)
    try run.run(steps: steps)
    #expect(run.changeCount > steps / 2 && run.moveCount > steps / 16)
    #expect(run.counts.count > steps / 20)
  }
}
