import Foundation
import Heartwood
import Testing

@Suite("Random work on a graph of every kind of relationship")
struct RandomGraphTests {
  @Test(arguments: UInt64(0)..<4)
  func `in one context leads to what a reference holds`(seed: UInt64) throws {
    var setting = CrewSetting()
    setting.tracksUndo = [seed % 2 == 1]
    do {
      let start = ContinuousClock.now
      let counts = try CrewShrinking.run(seed: seed, setting, steps: 2000)
      print(counts, start.duration(to: .now))
    } catch {
      Issue.record("\(error)")
    }
  }
}
