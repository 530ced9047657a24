import Foundation

/// The JSON encoding of `Codable` types, in which equal values have equal bytes.
enum JSONCoding {
  static func bytes(of value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    // Equal values must have equal bytes; otherwise an unchanged value would count as changed.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return [UInt8](try encoder.encode(OrderedValue(value)))
  }

  static func value<Value: Decodable & AttributeValue>(
    _ type: Value.Type, from stored: StoredValue
  ) throws -> Value {
    guard case .bytes(let bytes) = stored else { throw Value.mismatch(stored) }
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do {
      return try decoder.decode(type, from: Data(bytes))
    } catch {
      throw StorageError(
        .incompatibleFormat,
        "The stored JSON does not decode as this program's version of \(type): \(error).")
    }
  }
}

/// A value that is encoded with the sets and dictionaries in it sorted.
///
/// A set, and a dictionary that is encoded as an array, come in another order in each instance.
struct OrderedValue<Value: Encodable>: Encodable {
  let value: Value

  init(_ value: Value) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    switch value {
    case let unordered as any UnorderedEncodable:
      try unordered.encodeSorted(to: encoder)
    // JSONEncoder has its own form for the first four, which it does not recognise in a wrapper.
    // The others are primitive: they would encode themselves through a container, and so come here.
    case is Date, is Data, is URL, is Decimal, is String, is Bool, is any BinaryInteger,
      is any BinaryFloatingPoint:
      var container = encoder.singleValueContainer()
      try container.encode(value)
    default:
      try value.encode(to: OrderingEncoder(base: encoder))
    }
  }
}

/// A collection whose elements have no order.
private protocol UnorderedEncodable {
  func encodeSorted(to encoder: any Encoder) throws
}

extension Set: UnorderedEncodable where Element: Encodable {
  /// Encodes an array, sorted by the JSON of the elements.
  func encodeSorted(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for element in try sortedByJSON(\.self) { try container.encode(OrderedValue(element)) }
  }
}

extension Dictionary: UnorderedEncodable where Key: Encodable, Value: Encodable {
  /// Encodes an array of keys and values, sorted by the JSON of the keys, if `Dictionary` does not
  /// encode an object, whose keys are sorted anyway.
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
