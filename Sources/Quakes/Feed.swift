import Foundation

/// A GeoJSON summary feed of the Geological Survey (USGS), as far as a ``Quake`` takes from it.
///
/// The feeds are described at https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php
struct Feed: Decodable, Sendable {
  struct Feature: Decodable, Sendable {
    struct Properties: Decodable, Sendable {
      let net: String
      let code: String
      let mag: Double?
      let place: String?
      /// Milliseconds since 1970.
      let time: Double
      let updated: Double?
      let type: String?
    }

    struct Geometry: Decodable, Sendable {
      /// Longitude, latitude and depth, as far as they are known.
      let coordinates: [Double?]
    }

    let properties: Properties
    let geometry: Geometry?
  }

  private enum Kind: String, Decodable {
    case collection = "FeatureCollection"
  }

  private let type: Kind
  let features: [Feature]

  /// What a feed is called in sentences.
  static func name(of path: String) -> String { path == "-" ? "the standard input" : path.visible }

  /// Reads the feed in a file, at an address, or from the standard input if the path is `-`.
  init(contentsOf path: String) async throws {
    let name = Self.name(of: path)
    let url = Download.address(path)
    let content =
      if let url, !url.isFileURL {
        try await Download.content(of: url)
      } else {
        try Self.content(of: url ?? URL(filePath: path), isInput: path == "-", name)
      }
    do {
      self = try JSONDecoder().decode(Feed.self, from: content)
    } catch let error as DecodingError {
      throw Complaint.refused(
        "\(name) is no GeoJSON feed of earthquakes: \(Self.reason(error, content)) Nothing was "
          + "imported. Name a feed of earthquake.usgs.gov.")
    }
  }

  private static func content(of url: URL, isInput: Bool, _ name: String) throws -> Data {
    do {
      let file = isInput ? .standardInput : try FileHandle(forReadingFrom: url)
      return try file.readToEnd() ?? Data()
    } catch {
      let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
      let reason = cause.localizedFailureReason ?? cause.localizedDescription
      throw Complaint.refused(
        "\(name) cannot be read (\(reason)). Name the file of a feed, or - for the standard input.")
    }
  }

  /// What the decoder found wrong, and where, as a sentence.
  private static func reason(_ error: DecodingError, _ content: Data) -> String {
    switch error {
    case .keyNotFound(let key, let context): "\(place(context.codingPath + [key])) is missing."
    case .valueNotFound(_, let context): "\(place(context.codingPath)) is null."
    case .typeMismatch(let type, let context): "\(place(context.codingPath)) is no \(word(type))."
    case .dataCorrupted(let context) where context.codingPath.isEmpty: syntaxError(in: content)
    case .dataCorrupted(let context): "\(place(context.codingPath)) makes no sense."
    @unknown default: "\(error)"
    }
  }

  /// What is no JSON in the content, and where: the decoder itself does not say.
  private static func syntaxError(in content: Data) -> String {
    do {
      _ = try JSONSerialization.jsonObject(with: content)
      return "it is no JSON."
    } catch {
      return "\((error as NSError).userInfo["NSDebugDescription"] ?? error.localizedDescription)"
    }
  }

  /// The way to a value, such as `features[3].properties.time`.
  private static func place(_ path: [any CodingKey]) -> String {
    guard !path.isEmpty else { return "the document" }
    return path.reduce("") { way, key in
      if let index = key.intValue { return "\(way)[\(index)]" }
      return way.isEmpty ? key.stringValue : "\(way).\(key.stringValue)"
    }
  }

  /// What JSON calls values of a type.
  private static func word(_ type: any Any.Type) -> String {
    switch type {
    case is String.Type: "text"
    case is any Numeric.Type: "number"
    case is [Any].Type: "list"
    default: "object"
    }
  }
}
