import Foundation
import HeartwoodTestSupport
import Testing

@Suite("quakes import")
struct ImportTests {
  @Test(arguments: [1, 2]) func `an import adds every quake of a feed once`(seed: UInt64) throws {
    let quakes = try QuakesFixture()
    let feed = FeedContent(count: 300, seed: seed)
    let first = try quakes.importFeed(feed)
    first.expectFine()
    #expect(first.output.hasPrefix("300 quakes in standard input: 300 added, 0 updated"))
    let again = try quakes.importFeed(try feed.content)
    again.expectFine()
    #expect(again.output.hasSuffix("feed.geojson: 0 added, 0 updated, 300 unchanged\n"))
    let part = FeedContent(Array(feed.quakes.prefix(40)))
    #expect(try quakes.importFeed(part).output.contains(": 0 added, 0 updated, 40 unchanged"))
    #expect(try quakes.codes().sorted() == feed.quakes.map(\.id).sorted())
    try quakes.expectSound()
  }

  @Test func `an import stores all values of a quake`() throws {
    let quakes = try QuakesFixture()
    let feed = FeedContent(count: 60, seed: 3)
    try quakes.importFeed(feed).expectFine()
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    func milliseconds(_ text: Any?) throws -> Int {
      let date = try style.parse(try #require(text as? String))
      return Int((date.timeIntervalSince1970 * 1000).rounded())
    }
    let listed = try quakes.list()
    #expect(listed.count == 60)
    for (row, quake) in zip(listed, feed.quakes) {
      #expect(row["code"] as? String == quake.id)
      #expect(row["magnitude"] as? Double == quake.magnitude)
      #expect(row["place"] as? String == quake.place ?? "")
      #expect(row["depth"] as? Double == quake.depth)
      #expect(row["latitude"] as? Double == quake.latitude)
      #expect(row["longitude"] as? Double == quake.longitude)
      #expect(row["kind"] as? String == quake.kind)
      #expect(try milliseconds(row["time"]) == quake.time)
      #expect(try milliseconds(row["updated"]) == quake.updated)
    }
  }

  @Test func `an import updates known quakes`() throws {
    let quakes = try QuakesFixture()
    var feed = FeedContent(count: 20, seed: 4)
    try quakes.importFeed(feed).expectFine()
    feed.quakes[3].magnitude = 9.1
    feed.quakes[7].magnitude = nil
    feed.quakes[8].place = "renamed"
    feed.quakes.append(FeedContent.Quake(code: "new", magnitude: -0.3))
    // The feed reports a quake twice, but the store must contain it only once.
    feed.quakes.append(feed.quakes[0])
    let run = try quakes.importFeed(feed)
    #expect(run.output.hasPrefix("21 quakes in standard input: 1 added, 3 updated, 17 unch"))
    let strongest = try quakes.list("--sort", "magnitude", "--limit", "1")
    #expect(strongest.first?["code"] as? String == feed.quakes[3].id)
    try quakes.expectSound()
  }

  @Test func `an import accepts a feed without quakes`() throws {
    let quakes = try QuakesFixture()
    let run = try quakes.importFeed(FeedContent([]))
    run.expectFine()
    #expect(run.output.contains("0 quakes in standard input: 0 added"))
    #expect(try quakes.run("list").output == "0 of 0 quakes\n")
    #expect(try quakes.run("stats").output == "quakes   0\n")
  }

  @Test(arguments: [
    ("hello", "Invalid value around character 0"), ("", "Unexpected end of file"),
    ("[]", "the document is not an object"), (#"{"type": "Feature"}"#, "type is not valid"),
    (#"{"type": "FeatureCollection"}"#, "features is missing"),
    (
      #"{"type": "FeatureCollection", "features": [{"properties": {"net": "a", "code": "b"}}]}"#,
      "features[0].properties.time is missing"
    ),
    (
      #"{"type": "FeatureCollection", "features": [{"properties": {"net": 5, "code": "b"}}]}"#,
      "features[0].properties.net is not a string"
    ),
    (
      #"{"type": "FeatureCollection", "features": [{"properties": {"net": "a", "code": "b", "#
        + #""time": 0, "mag": 1e300}}]}"#,
      "features[0].properties.mag is not valid"
    ),
    (
      #"{"type": "FeatureCollection", "features": [{"properties": {"net": "a", "code": "b", "#
        + #""time": 1e300}}]}"#,
      "features[0].properties.time is not valid"
    ),
  ])
  func `an invalid feed is rejected with the position of the error`(content: String, words: String)
    throws
  {
    let quakes = try QuakesFixture()
    let run = try quakes.importFeed(Data(content.utf8))
    run.expectComplaint("is not a GeoJSON feed of earthquakes: \(words)", exitCode: 1)
    #expect(!FileManager.default.fileExists(atPath: quakes.path))
  }

  @Test func `unreadable files and directories are rejected`() throws {
    let quakes = try QuakesFixture()
    try quakes.run("import", "/none").expectComplaint("(No such file or directory)", exitCode: 1)
    try quakes.run("import", "/").expectComplaint("(Is a directory)", exitCode: 1)
    try FileManager.default.createDirectory(
      atPath: quakes.path, withIntermediateDirectories: true)
    try Data("Dear".utf8).write(to: URL(filePath: quakes.path + "/letter.txt"))
    let feed = FeedContent(count: 1, seed: 1)
    try quakes.importFeed(feed).expectComplaint(
      "contains other files (such as letter.txt)", exitCode: 1)
  }

  @Test func `an import accepts the URL of a feed`() throws {
    let quakes = try QuakesFixture()
    let file = try quakes.file("a feed.geojson", FeedContent(count: 5, seed: 5))
    let address = URL(filePath: file).absoluteString
    let run = try quakes.run("import", address)
    run.expectFine()
    #expect(run.output.hasPrefix("5 quakes in \(address): 5 added"))
    try quakes.run("import", address + "x").expectComplaint(
      "(No such file or directory)", exitCode: 1)
    // No server listens on port 1.
    try quakes.run("import", "http://127.0.0.1:1/day.geojson").expectComplaint(
      "http://127.0.0.1:1/day.geojson cannot be reached (", exitCode: 1)
    try quakes.run("import", "ftp://host/day").expectComplaint(
      "Use an http, https or file URL", exitCode: 1)
  }

  @Test(arguments: RealFeeds.paths) func `a real feed is imported once`(path: String) throws {
    let document = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
    let features = try #require((document as? [String: Any])?["features"] as? [[String: Any]])
    let ids = Set(features.compactMap { $0["id"] as? String })
    let quakes = try QuakesFixture()
    let first = try quakes.run("import", path)
    first.expectFine()
    let again = try quakes.run("import", path)
    #expect(again.output.filter(\.isNumber).hasSuffix("00" + "\(ids.count)"), "\(again.output)")
    #expect(Set(try quakes.codes()) == ids)
    #expect(
      try quakes.run("stats", "--json").json([String: Any].self)["count"] as? Int == ids.count)
    try quakes.expectSound()
  }

  @Test(.enabled(if: RealFeeds.paths.count > 1)) func `overlapping real feeds are imported`() throws
  {
    var ids: Set<String> = []
    let quakes = try QuakesFixture()
    // Import the longer feeds first, because they include the quakes of the shorter feeds.
    for path in RealFeeds.paths.reversed() {
      let document = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
      let features = (document as? [String: Any])?["features"] as? [[String: Any]] ?? []
      ids.formUnion(features.compactMap { $0["id"] as? String })
      try quakes.run("import", path).expectFine()
      #expect(try quakes.codes().count == ids.count)
    }
    try quakes.expectSound()
  }
}
