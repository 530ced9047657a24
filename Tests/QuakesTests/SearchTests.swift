import Foundation
import HeartwoodTestSupport
import Testing

@Suite("quakes search")
struct SearchTests {
  private static func fixture() throws -> QuakesFixture {
    let quakes = try QuakesFixture()
    let places = [
      "4km NE of Ridgecrest, CA", "10 km SW of Cobb, California", "Ridgecrest Canyon",
      "5 km NE of The Geysers",
    ]
    try quakes.importFeed(
      FeedContent(
        places.enumerated().map { number, place in
          FeedContent.Quake(
            network: "us", code: "\(number)", magnitude: 1, place: place,
            time: 1_550_275_200_000 + number, longitude: 0, latitude: 0)
        })
    ).expectFine()
    return quakes
  }

  @Test func `a search finds the quakes with all words in their places`() throws {
    let quakes = try Self.fixture()
    let found = try quakes.run("search", "km ne of")
    #expect(found.output.contains("The Geysers") && found.output.contains("2 of 2 quakes found"))
    #expect(try quakes.run("search", "ridge*").output.contains("2 of 2 quakes found"))
    #expect(try quakes.run("search", "ne", "of").output.contains("2 of 2 quakes found"))
    #expect(try quakes.run("search", "ridgecrest~", "--limit", "1").output.contains("1 of 2"))
    #expect(try quakes.run("search", "nowhere").output.contains("0 of 0 quakes found"))
    #expect(try quakes.run("search", "cobb", "--json").output.contains("us1"))
  }

  @Test func `a search needs a text`() throws {
    let quakes = try Self.fixture()
    try quakes.run("search").expectComplaint("Missing argument TEXT", exitCode: 2)
  }
}
