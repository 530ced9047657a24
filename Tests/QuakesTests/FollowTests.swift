import Foundation
import HeartwoodTestSupport
import Testing

/// Tests the output of `quakes follow`, which shows a pinned view.
@Suite("quakes follow")
struct FollowTests {
  private func quake(_ code: String, _ magnitude: Double, _ place: String) -> FeedContent.Quake {
    .init(code: code, magnitude: magnitude, place: place)
  }

  @Test func `a pinned view is unchanged by an import and advances when it merges the history`()
    throws
  {
    let quakes = try QuakesFixture()
    let first = FeedContent([quake("a", 5.1, "Cobb"), quake("b", 2.0, "Hilo")])
    let second = FeedContent([quake("a", 4.6, "Cobb, CA"), quake("c", 3.1, "Anza")])
    let files = [
      try quakes.file("first.geojson", first), try quakes.file("second.geojson", second),
    ]
    let run = try quakes.run("follow", files[0], files[1])
    run.expectFine()
    let cost =
      /\ \ The view shows generation \d+; the newest is \d+\. The pin retains [\d,]+ bytes\./
    let lines = run.lines.map { $0.wholeMatch(of: cost) == nil ? $0 : "  COST" }
    let (none, old) = (shown(0, []), shown(2, ["5.1  Cobb"]))
    let (new, stays) = (
      shown(3, ["4.6  Cobb, CA"]), "was imported in the background. The view does"
    )
    #expect(
      lines == ["The view is pinned."] + none + ["", "\(files[0]) \(stays) not change."] + none
        + ["  COST", "", "Merged the changes by follow: 2 inserted, 0 updated, 0 deleted."] + old
        + ["", "\(files[1]) \(stays) not change."] + old
        + ["  COST", "", "Merged the changes by follow: 1 inserted, 1 updated, 0 deleted."] + new
        + [""])
    let again = try quakes.run("follow", files[1])
    again.expectFine()
    #expect(again.output.contains("The history has no new transactions."))
    try quakes.expectSound()
  }

  private func shown(_ total: Int, _ rows: [String]) -> [String] {
    let found = rows.map { "  2019-02-16 23:46:15  \($0)" }
    return ["  \(total) quakes; the newest of magnitude 4.5 and above:"]
      + (found.isEmpty ? ["  none"] : found)
  }

  @Test(arguments: RealFeeds.paths) func `the view follows real feeds`(path: String) throws {
    let quakes = try QuakesFixture()
    let run = try quakes.run("follow", path)
    run.expectFine()
    let total = try #require(run.lines.last { $0.contains(" quakes; the newest ") })
    let listed = try quakes.codes()
    #expect(total.replacing(",", with: "").hasPrefix("  \(listed.count) quakes;"))
    try quakes.expectSound()
  }
}
