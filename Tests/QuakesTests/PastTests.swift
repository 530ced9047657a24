import Foundation
import HeartwoodTestSupport
import Testing

/// Tests the states that imports keep, and the commands that use them.
@Suite("quakes at, diff and undo", .waiting)
struct PastTests {
  private func quake(_ code: String, _ magnitude: Double) -> FeedContent.Quake {
    .init(code: code, magnitude: magnitude, place: "Cobb")
  }

  /// Imports feeds of one quake each.
  private func importFeeds(_ quakes: QuakesFixture, _ codes: String...) throws {
    for code in codes { try quakes.importFeed(FeedContent([quake(code, 1)])).expectFine() }
  }

  /// Returns the times of the kept states, oldest first.
  private func times(_ quakes: QuakesFixture) throws -> [String] {
    let run = try quakes.run("at", "--json")
    run.expectFine()
    return try run.json([[String: Any]].self).compactMap { $0["time"] as? String }
  }

  @Test func `the state after each import is available by time`() throws {
    let quakes = try QuakesFixture()
    try importFeeds(quakes, "a", "b")
    try quakes.importFeed(FeedContent([quake("a", 1), quake("b", 1)])).expectFine()
    try quakes.importFeed(FeedContent([quake("a", 2), quake("c", 1)])).expectFine()
    let kept = try quakes.run("at")
    kept.expectFine()
    // An import without changes keeps no state.
    #expect(
      kept.lines.dropFirst().map { $0.split(separator: " ").last ?? "" }
        == ["import", "import", "import", "import", ""])
    let times = try times(quakes)
    for (time, codes) in zip(times, [[], ["nca"], ["nca", "ncb"], ["nca", "ncb", "ncc"]]) {
      let listed = try quakes.run("at", time, "--json").json([[String: Any]].self)
      #expect(listed.compactMap { $0["code"] as? String }.sorted() == codes)
    }
    #expect(
      try quakes.run("at", times[2], "--min-magnitude", "2").output
        == "0 of 2 quakes, as of \(times[2])\n")
    // A given second or day selects the newest state at the end of that second or day.
    let second = times[3].prefix(19) + "Z"
    #expect(
      try quakes.run("at", "\(second)").output.hasSuffix("3 of 3 quakes, as of \(times[3])\n"))
    #expect(try quakes.run("at", "0m").output.hasSuffix("as of \(times[3])\n"))
    try quakes.run("at", "2019-02-16").expectComplaint(
      "No state from 2019-02-16 or earlier is kept. The oldest state is from \(times[0])",
      exitCode: 1)
    try quakes.expectSound()
  }

  @Test func `diff shows added, changed and removed quakes`() throws {
    let quakes = try QuakesFixture()
    try quakes.importFeed(FeedContent([quake("a", 1), quake("b", 2)])).expectFine()
    try quakes.importFeed(FeedContent([quake("a", 1.5), quake("c", 3)])).expectFine()
    let times = try times(quakes)
    let run = try quakes.run("diff", times[1])
    run.expectFine()
    let rows = [
      "+  2019-02-16 23:46:15        3.0  ncc, Cobb",
      "~  2019-02-16 23:46:15        1.5  nca, magnitude 1.0 → 1.5",
    ]
    #expect(
      run.lines == ["   time (UTC)           magnitude  what"] + rows
        + ["", "1 added, 1 changed, 0 removed, from \(times[1]) to now", ""])
    let back = try quakes.run("diff", times[2], times[1])
    #expect(back.output.contains("-  2019-02-16 23:46:15        3.0  ncc, Cobb"))
    #expect(back.output.contains("nca, magnitude 1.5 → 1.0"))
    #expect(
      back.output.hasSuffix("0 added, 1 changed, 1 removed, from \(times[2]) to \(times[1])\n"))
    let document = try quakes.run("diff", times[1], "--json").json([String: Any].self)
    let changed = try #require(document["changed"] as? [[String: [String: Any]]])
    #expect(changed.map { $0["before"]?["magnitude"] as? Double } == [1])
    #expect(changed.map { $0["after"]?["magnitude"] as? Double } == [1.5])
    #expect((document["added"] as? [[String: Any]])?.map { $0["code"] as? String } == ["ncc"])
    let none = try quakes.run("diff", times[2], times[2])
    #expect(none.output.hasPrefix("0 added, 0 changed, 0 removed, from "))
  }

  @Test func `undo reverts one import after the other`() throws {
    let quakes = try QuakesFixture()
    try importFeeds(quakes, "a", "b")
    try quakes.importFeed(FeedContent([quake("a", 2), quake("c", 1)])).expectFine()
    let times = try times(quakes)
    let first = try quakes.run("undo")
    first.expectFine()
    #expect(
      first.output
        == "Undid the import of \(times[3]): 1 quake removed, 1 restored; 2 left\n")
    #expect(try quakes.codes("--min-magnitude", "1.5") == [])
    #expect(try quakes.run("undo").output.hasPrefix("Undid the import of \(times[2]): 1 quake"))
    // A later import can be undone before the earlier imports.
    try importFeeds(quakes, "d")
    #expect(try quakes.codes().sorted() == ["nca", "ncd"])
    try quakes.run("undo").expectFine()
    #expect(try quakes.codes() == ["nca"])
    #expect(try quakes.run("undo").output.hasPrefix("Undid the import of \(times[1]): 1 quake"))
    #expect(try quakes.codes() == [])
    try quakes.run("undo").expectComplaint("There are no more imports to undo", exitCode: 1)
    // The state that was undone is still available.
    #expect(try quakes.run("at", times[3]).output.hasSuffix("3 of 3 quakes, as of \(times[3])\n"))
    try quakes.expectSound()
  }

  @Test func `undo does not overwrite later changes of others`() throws {
    let quakes = try QuakesFixture()
    try importFeeds(quakes, "a", "b")
    let file = try quakes.file("c.geojson", FeedContent([quake("b", 2), quake("c", 1)]))
    try quakes.run("follow", file).expectFine()
    let times = try times(quakes)
    try quakes.run("undo").expectComplaint(
      "2 quakes have changed since the import of \(times[2]), so the import was not undone",
      "Run 'quakes diff \(times[2])' to", exitCode: 1)
    #expect(try quakes.codes().count == 3)
    // A later import can be undone, although the changed import cannot.
    try importFeeds(quakes, "d")
    try quakes.run("undo").expectFine()
    #expect(try quakes.codes().sorted() == ["nca", "ncb", "ncc"])
    try quakes.run("undo").expectComplaint("There are no more imports to undo", exitCode: 1)
    try quakes.expectSound()
  }

  @Test func `states are kept as configured by --keep`() throws {
    let quakes = try QuakesFixture()
    try importFeeds(quakes, "a", "b", "c", "d")
    #expect(try times(quakes).count == 5)
    let run = try quakes.run(
      "import", "-", "--keep", "2", input: FeedContent([quake("e", 1)]).content)
    run.expectFine()
    #expect(try times(quakes).count == 3)
    try quakes.run("undo").expectFine()
    try quakes.run("undo").expectFine()
    #expect(try times(quakes).count == 5)
    try quakes.run("undo").expectComplaint("There are no more imports to undo", exitCode: 1)
    #expect(try quakes.codes().sorted() == ["nca", "ncb", "ncc"])
    for number in 0..<TestScale.pick(quick: 7, all: 14) { try importFeeds(quakes, "n\(number)") }
    #expect(try times(quakes).count == 11)
    try quakes.expectSound()
  }

  @Test func `at, diff and undo require an import`() throws {
    let quakes = try QuakesFixture()
    for arguments in [["at"], ["at", "7d"], ["diff", "7d"], ["undo"], ["watch"]] {
      try ProgramRun("quakes", arguments + ["--store", quakes.path])
        .expectComplaint(of: "quakes", ["Run 'quakes import FILE'"], exitCode: 1, #_sourceLocation)
    }
    try quakes.importFeed(FeedContent([])).expectFine()
    #expect(
      try quakes.run("at").output == "There are no states yet. Run 'quakes import FILE' first.\n")
    try quakes.run("diff", "7d").expectComplaint("There are no states yet", exitCode: 1)
    try quakes.run("undo").expectComplaint("There is no import to undo", exitCode: 1)
  }
}
