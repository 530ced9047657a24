import Foundation
import HeartwoodTestSupport
import Testing

/// Tests the output of `quakes watch` while other processes import feeds.
@Suite("quakes watch", .waiting)
struct WatchTests {
  private func quake(_ code: String, _ magnitude: Double, hours: Int) -> FeedContent.Quake {
    .init(
      code: code, magnitude: magnitude, place: "Cobb", time: 1_550_275_200_000 + hours * 3_600_000)
  }

  private var first: FeedContent {
    FeedContent([quake("a", 5.1, hours: 0), quake("b", 2, hours: 1), quake("c", 0.3, hours: 2)])
  }
  private var second: FeedContent {
    FeedContent([quake("a", 4.6, hours: 0), quake("c", 0.2, hours: 2), quake("d", 3, hours: 3)])
  }

  @Test func `in a pipe, watch prints each import of another process`() throws {
    let quakes = try QuakesFixture()
    try quakes.importFeed(first).expectFine()
    let watch = try quakes.start("watch", "--changes", "2", "--min-magnitude", "1", "--limit=1")
    // `watch` is ready once it has printed its first line.
    #expect(try watch.line().hasPrefix("2 quakes, generation "))
    #expect(try watch.line() == "  2019-02-16 01:00:00        2.0       3.2  ncb         Cobb")
    #expect(try watch.line() == "  and 1 more")
    // An import that does not change the list prints nothing.
    try quakes.importFeed(FeedContent([quake("e", 0.1, hours: 5)])).expectFine()
    try quakes.importFeed(second).expectFine()
    #expect(try watch.line() == "")
    #expect(try watch.line().hasPrefix("3 quakes, generation "))
    #expect(try watch.line().hasPrefix("1 new, 1 changed, 0 gone; written by import, 20"))
    #expect(try watch.line() == "+ 2019-02-16 03:00:00        3.0       3.2  ncd         Cobb")
    #expect(try watch.line() == "  and 1 more")
    try quakes.run("undo").expectFine()
    #expect(try watch.line() == "")
    #expect(try watch.line().hasPrefix("2 quakes, generation "))
    #expect(try watch.line().hasPrefix("0 new, 1 changed, 1 gone; written by undo, 20"))
    #expect(try watch.line() == "~ 2019-02-16 00:00:00        5.1       3.2  nca         Cobb")
    #expect(try watch.end() == 0)
    try quakes.expectSound()
  }

  @Test func `watch prints one line of JSON for each change`() throws {
    let quakes = try QuakesFixture()
    try quakes.importFeed(first).expectFine()
    let watch = try quakes.start("watch", "--changes", "1", "--limit", "2", "--json")
    /// Returns the next line, parsed as JSON.
    func said() throws -> [String: Any] {
      let line = try JSONSerialization.jsonObject(with: Data(try watch.line().utf8))
      return try #require(line as? [String: Any])
    }
    func codes(_ quakes: Any?) -> [String] {
      (quakes as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
    }
    let before = try said()
    #expect(before["count"] as? Int == 3)
    #expect(codes(before["quakes"]) == ["ncc", "ncb"])
    try quakes.importFeed(second).expectFine()
    let after = try said()
    #expect(after["count"] as? Int == 4)
    #expect(codes(after["added"]) == ["ncd"])
    #expect(codes(after["changed"]) == ["ncc", "nca"])
    #expect(after["goneCount"] as? Int == 0)
    #expect(after["author"] as? String == "import")
    #expect(
      try #require(after["generation"] as? Int) > #require(before["generation"] as? Int))
    #expect(try watch.end() == 0)
    try quakes.expectSound()
  }

  /// The path of tmux, or `nil` if it is not installed.
  private static let tmux = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(
    separator: ":"
  )
  .map { "\($0)/tmux" }.first { FileManager.default.isExecutableFile(atPath: $0) }

  @Test(
    .enabled(if: WatchTests.tmux != nil, "tmux is not installed, so no screen is checked"),
    arguments: ["q", "C-c"])
  func `on a terminal, watch fills the screen and restores it at the end`(key: String) throws {
    let quakes = try QuakesFixture()
    let files = [
      try quakes.file("first.geojson", first), try quakes.file("second.geojson", second),
    ]
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "watch-in-tmux")
    let process = Process()
    process.executableURL = script
    process.arguments =
      [try ProgramRun.executable("quakes").path, quakes.path] + files + [key]
    let output = Pipe()
    process.standardOutput = output
    try process.start()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let text = String(decoding: said, as: UTF8.self)
    let steps = text.split(separator: "== ").map { $0.split(separator: "\n").map(String.init) }
    try #require(
      steps.map { $0[0] } == [
        "before", "after", "smaller", "ended", "the terminal is as it was",
      ], "\(text)")
    let title = "  time (UTC)           magnitude  depth km  code        place"
    #expect(steps[0][1].contains(/^3 quakes, generation \d+ +q quits$/))
    #expect(
      steps[0][2...].map { $0 } == [
        "Waiting for an import.", title,
        "  2019-02-16 02:00:00        0.3       3.2  ncc         Cobb",
        "  2019-02-16 01:00:00        2.0       3.2  ncb         Cobb",
        "  2019-02-16 00:00:00        5.1       3.2  nca         Cobb",
      ])
    #expect(steps[1][1].contains(/^4 quakes, generation \d+ +q quits$/))
    #expect(steps[1][2].hasPrefix("1 new, 2 changed, 0 gone; written by import, 20"))
    #expect(
      steps[1][4...].map { $0 } == [
        "+ 2019-02-16 03:00:00        3.0       3.2  ncd         Cobb",
        "~ 2019-02-16 02:00:00        0.2       3.2  ncc         Cobb",
        "  2019-02-16 01:00:00        2.0       3.2  ncb         Cobb",
        "~ 2019-02-16 00:00:00        4.6       3.2  nca         Cobb",
      ])
    // On a screen of six lines, the last two lines show quakes, truncated at the right edge.
    #expect(
      steps[2][4...].map { $0 } == [
        "+ 2019-02-16 03:00:00        3.0       3.2  ncd",
        "~ 2019-02-16 02:00:00        0.2       3.2  ncc",
      ])
    #expect(steps[3] == ["ended", "shell>"])
    try quakes.expectSound()
  }
}
