import Foundation
import HeartwoodTestSupport
import Testing

@Suite("quakes list")
struct ListTests {
  /// Returns a store of quakes that differ in every searchable value.
  private static func fixture() throws -> QuakesFixture {
    func quake(
      _ code: String, _ magnitude: Double?, _ place: String, hours: Int,
      at position: (Double, Double)
    ) -> FeedContent.Quake {
      FeedContent.Quake(
        network: "us", code: code, magnitude: magnitude, place: place,
        time: 1_550_275_200_000 + hours * 3_600_000, longitude: position.1, latitude: position.0)
    }
    let quakes = try QuakesFixture()
    // Hours are counted from midnight on 2019-02-16.
    try quakes.importFeed(
      FeedContent([
        quake("a", 5.1, "Delta", hours: -30, at: (38.8, -122.8)),
        quake("b", 1.2, "Alpha", hours: -1, at: (38.9, -122.8)),
        quake("c", nil, "Echo", hours: 0, at: (-17, 179.9)),
        quake("d", -0.4, "Bravo", hours: 2, at: (-17, -179.9)),
        quake("e", 4.5, "Charlie", hours: 12, at: (89.5, 10)),
      ])
    ).expectFine()
    return quakes
  }

  @Test func `the list has all quakes in the requested order`() throws {
    let quakes = try Self.fixture()
    #expect(try quakes.codes() == ["use", "usd", "usc", "usb", "usa"])
    #expect(try quakes.codes("--reverse") == ["usa", "usb", "usc", "usd", "use"])
    #expect(try quakes.codes("--sort", "magnitude") == ["usa", "use", "usb", "usd", "usc"])
    #expect(try quakes.codes("--sort=place") == ["usb", "usd", "use", "usa", "usc"])
    #expect(
      try quakes.codes("--sort=place", "--reverse", "--limit", "2") == ["usc", "usa"])
  }

  @Test func `the list has the quakes that match all conditions`() throws {
    let quakes = try Self.fixture()
    #expect(try quakes.codes("--min-magnitude", "-1") == ["use", "usd", "usb", "usa"])
    #expect(try quakes.codes("--min-magnitude", "4.5") == ["use", "usa"])
    #expect(try quakes.codes("--since", "2019-02-16") == ["use", "usd", "usc"])
    #expect(try quakes.codes("--since", "2019-02-15T23:00:00Z") == ["use", "usd", "usc", "usb"])
    #expect(try quakes.codes("--since", "2019-02-16", "--min-magnitude=1") == ["use"])
    #expect(try quakes.codes("--since", "24h") == [])
    #expect(try quakes.codes("--since", "9999w", "--limit=1") == ["use"])
  }

  @Test func `the list finds nearby quakes across the date line and at a pole`() throws {
    let quakes = try Self.fixture()
    #expect(try quakes.codes("--near", "38.81,-122.8", "--sort", "distance") == ["usa", "usb"])
    #expect(try quakes.codes("--near", "38.81,-122.8,5") == ["usa"])
    #expect(try quakes.codes("--near", "-17,-179.95,50", "--sort=distance") == ["usd", "usc"])
    #expect(try quakes.codes("--near", "-17,179.95,50", "--sort=distance") == ["usc", "usd"])
    #expect(try quakes.codes("--near", "90,-120,60") == ["use"])
    #expect(try quakes.codes("--near", "0,0,30000").count == 5)
    #expect(try quakes.codes("--near", "-17,180,50", "--limit", "1") == ["usd"])
    let near = try quakes.list("--near", "-17,180,50", "--limit", "1")
    let distance = try #require(near.first?["distance"] as? Double)
    #expect(abs(distance - 10.63) < 0.01)
  }

  @Test(arguments: [5, 6, 7]) func `the list equals a manual search`(seed: UInt64) throws {
    let quakes = try QuakesFixture()
    let feed = FeedContent(count: 200, seed: seed)
    try quakes.importFeed(feed).expectFine()
    let strong = feed.quakes.filter { ($0.magnitude ?? -.infinity) >= 3.5 }
    #expect(try quakes.codes("--min-magnitude=3.5") == strong.map(\.id))
    // Compute distances with the spherical law of cosines, which is sufficiently exact here.
    let near = feed.quakes.filter { quake in
      let (first, second) = (40 * Double.pi / 180, quake.latitude * .pi / 180)
      let cosine =
        sin(first) * sin(second) + cos(first) * cos(second)
        * cos((quake.longitude - 170) * .pi / 180)
      return 6371 * acos(cosine) <= 4000
    }
    #expect(!near.isEmpty)
    #expect(try quakes.codes("--near", "40,170,4000") == near.map(\.id))
  }

  @Test func `the list is a table, without colours in a pipe`() throws {
    let quakes = try Self.fixture()
    let run = try quakes.run("list", "--min-magnitude", "1.2", "--sort", "place")
    run.expectFine()
    #expect(
      run.output == """
        time (UTC)           magnitude  depth km  code  place
        2019-02-15 23:00:00        1.2       3.2  usb   Alpha
        2019-02-16 12:00:00        4.5       3.2  use   Charlie
        2019-02-14 18:00:00        5.1       3.2  usa   Delta

        3 of 5 quakes

        """)
  }

  @Test func `the list uses an index and explains it`() throws {
    let quakes = try QuakesFixture()
    try quakes.importFeed(FeedContent(count: 3000, seed: 8)).expectFine()
    let newest = try quakes.run("list", "--limit", "10", "--explain")
    newest.expectFine()
    #expect(
      newest.output == """
        Quake by index time, backwards: about 10 of 3,000 rows, until 10 match.

        """)
    let strong = try quakes.run("list", "--min-magnitude", "6.5", "--explain")
    #expect(strong.output.hasPrefix("Quake by index magnitude: about "), "\(strong.output)")
  }

  @Test func `control characters in a feed do not reach the terminal`() throws {
    let quakes = try QuakesFixture()
    let place = "x\u{1B}[31m\ny"
    try quakes.importFeed(FeedContent([.init(code: "\u{7}", magnitude: 1, place: place)]))
      .expectFine()
    let run = try quakes.run("list")
    #expect(run.output.contains("x [31m y\n"))
    #expect(!run.output.contains("\u{1B}") && !run.output.contains("\u{7}"))
    #expect(try quakes.list().first?["place"] as? String == place)
  }

  @Test func `the list requires a store`() throws {
    let quakes = try QuakesFixture()
    for command in ["list", "stats"] {
      try quakes.run(command).expectComplaint("Run 'quakes import FILE' first.", exitCode: 1)
    }
    #expect(!FileManager.default.fileExists(atPath: quakes.path))
  }
}
