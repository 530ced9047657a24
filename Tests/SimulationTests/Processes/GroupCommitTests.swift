import Foundation
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Commits of several processes", .serialized, .waiting)
struct GroupCommitTests {
  private struct Totals {
    var commits = 0
    var syncs = 0
    let seconds: Double
    var rate: Double { Double(commits) / seconds }
  }

  /// Lets the given number of processes commit concurrently for some time, and returns the totals.
  private func totals(_ processCount: Int, seconds: Double) throws -> Totals {
    let campaign = try ProcessCampaign(seed: UInt64(processCount))
    for index in 0..<processCount { try campaign.add(.committer, index) { _ in } }
    while campaign.count(.opened, .committer) < processCount { usleep(1000) }
    campaign.signal("go")
    usleep(UInt32(seconds * 1_000_000))
    try campaign.finish()
    var totals = Totals(seconds: seconds)
    for (_, records) in campaign.ledgers(.committer) {
      let counted = try #require(records.last)
      try #require(counted.kind == .counted)
      totals.commits += Int(counted.generation)
      totals.syncs += Int(counted.number)
    }
    try campaign.expectAllIsWell()
    return totals
  }

  @Test(.evidence("D1"))
  func `share syncs of the log`() throws {
    let seconds = TestScale.pick(quick: 0.3, all: 1.5, long: 10.0)
    let one = try totals(1, seconds: seconds)
    let eight = try totals(8, seconds: seconds)
    #expect(eight.syncs < eight.commits)
    print(
      "group commit: 1 process \(one.commits) commits, \(one.syncs) syncs; 8 processes "
        + "\(eight.commits) commits, \(eight.syncs) syncs; ratio "
        + "\(String(format: "%.2f", eight.rate / one.rate))")
  }
}
