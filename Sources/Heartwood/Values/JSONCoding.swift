import Foundation

/// Conversions between `Codable` values and JSON.
///
/// Equal values are encoded as equal bytes.
enum JSONCoding {
  /// The strategy for encoding numbers that JSON cannot represent.
  static let encodedFloats = JSONEncoder.NonConformingFloatEncodingStrategy.convertToString(
    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  /// The strategy for decoding numbers that were encoded with ``encodedFloats``.
  static let decodedFloats = JSONDecoder.NonConformingFloatDecodingStrategy.convertFromString(
    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")

  static func bytes(of value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    // Sort the keys, so that equal values are encoded as equal bytes. Otherwise, an unchanged value
    // could be treated as changed.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = encodedFloats
    return [UInt8](try encoder.encode(OrderedValue(value)))
  }

  /// Decodes a value that ``bytes(of:)`` or a tool has encoded.
  static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = decodedFloats
    do {
      return try decoder.decode(type, from: data)
    } catch {
      // Dates are ISO 8601 text if a tool has copied the value from a feed or an export. Accept
      // such dates only if the first attempt has failed. Otherwise, a type that can contain either
      // a date or a string might decode a string as a date.
      decoder.dateDecodingStrategy = ExactDates.decodingOfAnyForm
      guard let value = try? decoder.decode(type, from: data) else { throw error }
      return value
    }
  }

  static func value<Value: Decodable & AttributeValue>(
    _ type: Value.Type, from stored: StoredValue
  ) throws -> Value {
    guard case .bytes(let bytes) = stored else { throw Value.mismatch(stored) }
    do {
      return try decode(type, from: Data(bytes))
    } catch {
      throw StorageError(
        .incompatibleFormat,
        "The stored JSON cannot be decoded as \(type) in this version of the program. Make "
          + "the type's init(from:) accept this JSON. The decoder reported: \(error).")
    }
  }
}

/// A wrapper that encodes a value with all its sets and dictionaries sorted.
///
/// Sorting makes the result deterministic. Otherwise, two equal sets, or two equal dictionaries
/// that are encoded as arrays, could list their elements in different orders.
struct OrderedValue<Value: Encodable>: Encodable {
  let value: Value

  init(_ value: Value) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    switch value {
    case let unordered as any UnorderedEncodable:
      try unordered.encodeSorted(to: encoder)
    // Encode values of these types directly. `JSONEncoder` treats `Date`, `Data`, `URL` and
    // `Decimal` specially, but does not recognise them in a wrapper. The other types are primitive:
    // their `encode(to:)` would write the value to a container, and the container would call this
    // function again.
    case is Date, is Data, is String, is Bool, is any BinaryInteger, is any BinaryFloatingPoint:
      try encodeDirectly(to: encoder)
    // Reject two values that `JSONEncoder` would write but `JSONDecoder` could not read.
    case let url as URL:
      guard URL(string: url.absoluteString) != nil else {
        throw refusal("An empty URL", encoder)
      }
      try encodeDirectly(to: encoder)
    case let decimal as Decimal:
      guard !decimal.isNaN else { throw refusal("The decimal number NaN", encoder) }
      try encodeDirectly(to: encoder)
    default:
      try value.encode(to: OrderingEncoder(base: encoder))
    }
  }

  private func encodeDirectly(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }

  private func refusal(_ subject: String, _ encoder: any Encoder) -> EncodingError {
    .invalidValue(
      value,
      EncodingError.Context(
        codingPath: encoder.codingPath,
        debugDescription: "\(subject) cannot be stored within an array or a Codable value."))
  }
}

/// A collection whose elements have no defined order.
private protocol UnorderedEncodable {
  func encodeSorted(to encoder: any Encoder) throws
}

extension Set: UnorderedEncodable where Element: Encodable {
  /// Encodes the set as an array whose elements are sorted by their JSON representation.
  func encodeSorted(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for element in try sortedByJSON(\.self) { try container.encode(OrderedValue(element)) }
  }
}

extension Dictionary: UnorderedEncodable where Key: Encodable, Value: Encodable {
  /// Encodes the dictionary with its entries in a deterministic order.
  ///
  /// If Swift encodes the dictionary as a JSON object, this method does the same, because
  /// `JSONEncoder` already sorts the keys of objects. Otherwise, this method encodes the dictionary
  /// as an array of alternating keys and values, sorted by the JSON of the keys.
  func encodeSorted(to encoder: any Encoder) throws {
    let isObject = Key.self is String.Type || Key.self is Int.Type
    if isObject || Key.self is any CodingKeyRepresentable.Type {
      return try encode(to: OrderingEncoder(base: encoder))
    }
    var container = encoder.unkeyedContainer()
    for (key, value) in try sortedByJSON(\.key) {
      try container.encode(OrderedValue(key))
      try container.encode(OrderedValue(value))
    }
  }
}

extension Collection {
  fileprivate func sortedByJSON(_ key: (Element) -> some Encodable) throws -> [Element] {
    try map { (bytes: try JSONCoding.bytes(of: key($0)), element: $0) }
      .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
      .map(\.element)
  }
}
