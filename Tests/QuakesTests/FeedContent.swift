import Foundation
import HeartwoodTestSupport

/// A generated feed in the format of the Geological Survey.
struct FeedContent {
  struct Quake: Equatable {
    var network = "nc"
    var code: String
    var magnitude: Double?
    var place: String? = "8km NE of Aguanga, CA"
    /// The time, in milliseconds since 1970.
    var time = 1_550_360_775_470
    var updated = 1_550_360_993_593
    var longitude = -116.79
    var latitude = 33.48
    var depth: Double? = 3.22
    var kind = "earthquake"

    var id: String { network + code }
  }

  var quakes: [Quake]

  /// Creates the quakes of a week, newest first as in a real feed.
  ///
  /// A few quakes have no magnitude, place or depth.
  init(count: Int, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    quakes = (0..<count).map { number in
      Quake(
        network: ["nc", "ci", "us", "ak"].randomElement(using: &random) ?? "nc",
        code: "\(70_000_000 + number / 2)\(number % 2)",
        magnitude: number % 17 == 3 ? nil : Double(Int.random(in: -12...75, using: &random)) / 10,
        place: number % 23 == 5 ? nil : "\(number)km N of Cobb, CA",
        time: 1_550_361_461_000 - number * 600_000 - Int.random(in: 0..<600_000, using: &random),
        longitude: Double(Int.random(in: -1_799_999...1_799_999, using: &random)) / 10_000,
        latitude: Double(Int.random(in: -899_999...899_999, using: &random)) / 10_000,
        depth: number % 29 == 7 ? nil : Double(Int.random(in: -20...6000, using: &random)) / 10)
    }
  }

  init(_ quakes: [Quake]) { self.quakes = quakes }

  var content: Data {
    get throws {
      let document: [String: Any] = [
        "type": "FeatureCollection",
        "metadata": ["title": "made up", "status": 200, "count": quakes.count],
        "features": quakes.map(Self.feature),
      ]
      return try JSONSerialization.data(withJSONObject: document)
    }
  }

  private static func feature(_ quake: Quake) -> [String: Any] {
    [
      "type": "Feature", "id": quake.id,
      "properties": [
        "mag": quake.magnitude ?? NSNull(), "place": quake.place ?? NSNull(), "time": quake.time,
        "updated": quake.updated, "net": quake.network, "code": quake.code, "type": quake.kind,
        "felt": NSNull(), "tz": -480, "title": "made up",
      ] as [String: Any],
      "geometry": [
        "type": "Point",
        "coordinates": [quake.longitude, quake.latitude, quake.depth ?? NSNull()] as [Any],
      ] as [String: Any],
    ]
  }
}
