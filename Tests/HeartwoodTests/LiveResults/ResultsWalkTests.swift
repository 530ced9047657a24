import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Random walks through results")
struct ResultsWalkTests {
  @Test(
    .mustEnd, .evidence("LR-10"), arguments: ResultsWalk.Setting.allCases,
    TestScale.seeds(quick: 1, all: 4))
  func `a walk sees the list as it was when it began`(
    setting: ResultsWalk.Setting, seed: UInt64
  ) throws {
    let run = try ResultsWalk(setting, seed: seed)
    let walks = TestScale.pick(quick: 25, all: 100, long: 300)
    try run.run(walks: walks)
    // With a chosen seed, few objects may leave the list during walks.
    let isTypical = run.visitCount > walks / 4 && run.formerCount > walks / 32
    #expect(isTypical || TestScale.chosenSeeds != nil)
  }
}
