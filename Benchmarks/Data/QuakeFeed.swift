import Foundation

/// The part of a GeoJSON summary feed from the US Geological Survey (USGS) that the benchmark uses.
struct QuakeFeed: Decodable {
  private struct Feature: Decodable {
    struct Properties: Decodable {
      let mag: Float?
      let place: String?
      let time: Int64
      let net: String
      let code: String
    }
    struct Geometry: Decodable {
      /// The longitude, latitude and depth, some of which may be missing if the quake was not
      /// located.
      let coordinates: [Float?]
    }
    let properties: Properties
    let geometry: Geometry?
  }

  private let features: [Feature]

  /// Reads the quakes from the file at `path`, in the order of the feed.
  ///
  /// - Throws: ``BenchFailure`` if the file cannot be read, is not a feed, or contains no quakes.
  static func read(path: String) throws -> [Quake] {
    let content: Data
    do {
      content = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw BenchFailure("The feed \(path) cannot be read: \(error.localizedDescription)")
    }
    do {
      let quakes = try JSONDecoder().decode(QuakeFeed.self, from: content).features.map(quake)
      guard !quakes.isEmpty else {
        throw BenchFailure(
          "The feed \(path) contains no quakes. Use a feed that covers a longer period.")
      }
      return quakes
    } catch let error as DecodingError {
      throw BenchFailure("\(path) is not a GeoJSON summary feed of earthquakes: \(reason(error))")
    }
  }

  private static func quake(_ feature: Feature) -> Quake {
    let coordinates = feature.geometry?.coordinates ?? []
    func coordinate(_ index: Int) -> Float {
      guard index < coordinates.count else { return .nan }
      return coordinates[index] ?? .nan
    }
    return Quake(
      code: feature.properties.net + feature.properties.code,
      magnitude: feature.properties.mag ?? .nan,
      place: feature.properties.place ?? "",
      time: feature.properties.time,
      longitude: coordinate(0), latitude: coordinate(1), depth: coordinate(2))
  }

  /// Returns a description of the decoder's error, with its location in the feed.
  private static func reason(_ error: DecodingError) -> String {
    let context: DecodingError.Context
    switch error {
    case .typeMismatch(_, let found): context = found
    case .valueNotFound(_, let found): context = found
    case .keyNotFound(_, let found): context = found
    case .dataCorrupted(let found): context = found
    @unknown default: return "\(error)"
    }
    let place = context.codingPath.map(\.stringValue).joined(separator: ".")
    return place.isEmpty ? context.debugDescription : "\(context.debugDescription) (\(place))"
  }
}
