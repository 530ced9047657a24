import Foundation

/// A GeoJSON summary feed from the US Geological Survey (USGS).
///
/// Only the values that a ``Quake`` needs are decoded. The feeds are described at
/// https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php
struct Feed: Decodable, Sendable {
  struct Feature: Decodable, Sendable {
    struct Properties: Decodable, Sendable {
      let net: String
      let code: String
      let mag: Double?
      let place: String?
      /// The time, in milliseconds since 1970.
      let time: Double
      let updated: Double?
      let type: String?

      private enum Key: String, CodingKey { case net, code, mag, place, time, updated, type }

      /// The range of plausible magnitudes.
      private static let magnitudes = -20.0...20.0
      /// The range of times whose years have four digits, in milliseconds since 1970.
      private static let times = -62_135_596_800_000.0...253_402_300_799_999.0

      init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        net = try values.decode(String.self, forKey: .net)
        code = try values.decode(String.self, forKey: .code)
        mag = try values.number(in: Self.magnitudes, forKey: .mag)
        place = try values.decodeIfPresent(String.self, forKey: .place)
        _ = try values.decode(Double.self, forKey: .time)
        time = try values.number(in: Self.times, forKey: .time) ?? 0
        updated = try values.number(in: Self.times, forKey: .updated)
        type = try values.decodeIfPresent(String.self, forKey: .type)
      }
    }

    struct Geometry: Decodable, Sendable {
      /// The longitude, the latitude and the depth, in that order.
      ///
      /// An unknown value is `nil`, or is missing at the end of the array.
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

  /// Returns the name of a feed, for messages.
  static func name(of path: String) -> String { path == "-" ? "standard input" : path.visible }

  /// Reads the feed at `path`, which is a file path, a URL, or `-` for standard input.
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
      throw CommandError.failure(
        "\(name) is not a GeoJSON feed of earthquakes: \(Self.reason(error, content)) Nothing was "
          + "imported. Use a feed from earthquake.usgs.gov.")
    }
  }

  private static func content(of url: URL, isInput: Bool, _ name: String) throws -> Data {
    do {
      let file = isInput ? .standardInput : try FileHandle(forReadingFrom: url)
      return try file.readToEnd() ?? Data()
    } catch {
      let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
      let reason = cause.localizedFailureReason ?? cause.localizedDescription
      throw CommandError.failure(
        "\(name) cannot be read (\(reason)). Specify the path of a feed file, or - for standard "
          + "input.")
    }
  }

  /// Returns a sentence that names the invalid value in the feed, or the position of a JSON syntax
  /// error.
  private static func reason(_ error: DecodingError, _ content: Data) -> String {
    switch error {
    case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing."
    case .valueNotFound(_, let context): "\(path(context.codingPath)) is null."
    case .typeMismatch(let type, let context): "\(path(context.codingPath)) is not \(word(type))."
    case .dataCorrupted(let context) where context.codingPath.isEmpty: syntaxError(in: content)
    case .dataCorrupted(let context): "\(path(context.codingPath)) is not valid."
    @unknown default: "\(error)"
    }
  }

  /// Returns a description of the syntax error in the content, including its position.
  ///
  /// `JSONDecoder` does not report the position, so this method parses the content again.
  private static func syntaxError(in content: Data) -> String {
    do {
      _ = try JSONSerialization.jsonObject(with: content)
      return "its contents are not valid JSON."
    } catch {
      return "\((error as NSError).userInfo["NSDebugDescription"] ?? error.localizedDescription)"
    }
  }

  /// Returns the path of a value, such as `features[3].properties.time`.
  private static func path(_ path: [any CodingKey]) -> String {
    guard !path.isEmpty else { return "the document" }
    return path.reduce("") { text, key in
      if let index = key.intValue { return "\(text)[\(index)]" }
      return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
    }
  }

  /// Returns the JSON name of a type with an indefinite article, such as `a string`.
  private static func word(_ type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is any Numeric.Type: "a number"
    case is [Any].Type: "an array"
    default: "an object"
    }
  }
}

extension KeyedDecodingContainer {
  /// Returns the number for a key, or `nil` if there is none.
  ///
  /// - Throws: `DecodingError` if the number is outside the range.
  fileprivate func number(in range: ClosedRange<Double>, forKey key: Key) throws -> Double? {
    guard let number = try decodeIfPresent(Double.self, forKey: key) else { return nil }
    guard range.contains(number) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "The number is out of range.")
    }
    return number
  }
}
