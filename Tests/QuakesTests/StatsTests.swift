import HeartwoodTestSupport
import Testing

@Suite("quakes stats")
struct StatsTests {
  @Test(arguments: [8, 9]) func `the statistics count every quake once`(seed: UInt64) throws {
    let quakes = try QuakesFixture()
    let feed = FeedContent(count: 250, seed: seed)
    try quakes.importFeed(feed).expectFine()
    let run = try quakes.run("stats", "--json")
    run.expectFine()
    let stats = try run.json([String: Any].self)
    #expect(stats["count"] as? Int == 250)
    let unmeasured = feed.quakes.filter { $0.magnitude == nil }.count
    #expect(stats["unmeasuredCount"] as? Int == unmeasured)
    let steps = try #require(stats["magnitudes"] as? [[String: Any]])
    for step in steps {
      let low = try #require(step["magnitude"] as? Double)
      let count = feed.quakes.filter { quake in
        quake.magnitude.map { $0 >= low && $0 < low + 0.5 } ?? false
      }.count
      #expect(step["count"] as? Int == count)
    }
    #expect(steps.compactMap { $0["count"] as? Int }.reduce(unmeasured, +) == 250)
    let days = try #require(stats["days"] as? [[String: Any]])
    #expect(days.compactMap { $0["count"] as? Int }.reduce(0, +) == 250)
    #expect(days.last?["day"] as? String == "2019-02-16")
    let largest = try #require(stats["largest"] as? [String: Any])
    #expect(largest["value"] as? Double == feed.quakes.compactMap(\.magnitude).max())
    let deepest = try #require(stats["deepest"] as? [String: Any])
    #expect(deepest["value"] as? Double == feed.quakes.compactMap(\.depth).max())
  }

  @Test func `the statistics draw bars`() throws {
    let quakes = try QuakesFixture()
    func quake(_ code: String, _ magnitude: Double?, day: Int = 0) -> FeedContent.Quake {
      .init(code: code, magnitude: magnitude, place: "Cobb", time: 1_550_275_200_000 + day)
    }
    try quakes.importFeed(
      FeedContent([
        quake("a", -0.6), quake("b", 0.4), quake("c", 0.1), quake("d", nil),
        quake("e", 0.2, day: 86_400_000),
      ])
    ).expectFine()
    let run = try quakes.run("stats")
    run.expectFine()
    let (whole, third) = (String(repeating: "█", count: 56), String(repeating: "█", count: 18))
    #expect(
      run.output == """
        quakes   5
        time     2019-02-16 00:00:00 to 2019-02-17 00:00:00 UTC
        largest  magnitude 0.4, Cobb (ncb, 2019-02-16 00:00:00)
        deepest  3.2 km, Cobb (nce, 2019-02-17 00:00:00)
                 1 without a magnitude

        magnitude  quakes
             -1.0       1  \(third)▋
             -0.5       0
              0.0       3  \(whole)

         day (UTC)  quakes
        2019-02-16       4  \(whole)
        2019-02-17       1  \(String(repeating: "█", count: 14))

        """)
  }
}
