package import Foundation

/// The value of a property or an expression, with its stored type.
package enum ObjectValue: Sendable {
  case null
  case value(StoredValue, StorageType)
  /// A reference to another object.
  case object(ManagedObjectID)
  /// The members of a to-many relationship.
  case objects([ManagedObjectID])

  /// The value as text, or `nil` for `null`.
  ///
  /// Bytes are encoded in base64. Dates are encoded in ISO 8601 with as many digits as necessary.
  /// Members are separated by spaces.
  package var text: String? {
    switch self {
    case .null: nil
    case .object(let id): id.shortText
    case .objects(let ids): ids.map(\.shortText).joined(separator: " ")
    case .value(.date(bits: let bits), _):
      ExactDates.text(
        of: Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    case .value(.double(bits: let bits), .float): "\(Float(Double(bitPattern: bits)))"
    case .value(.bytes(let bytes), .json): String(decoding: bytes, as: UTF8.self)
    case .value(let value, _): value.text
    }
  }

  /// The value as text for display, with dates rounded to milliseconds, or `nil` for `null`.
  package var shownText: String? {
    if case .value(.date(bits: let bits), _) = self { return StoredValue.date(bits: bits).text }
    return text
  }
}

extension ObjectValue {
  /// Returns whether two values are bitwise identical, including the order of members.
  package func isSame(as other: ObjectValue) -> Bool {
    switch (self, other) {
    case (.null, .null): true
    case (.value(let first, _), .value(let second, _)): first.isIdentical(to: second)
    case (.object(let first), .object(let second)): first == second
    case (.objects(let first), .objects(let second)): first == second
    default: false
    }
  }
}

extension ObjectValue: Encodable {
  /// Returns an encoder that writes each value on one line, with sorted keys.
  package static func encoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = ExactDates.encoding
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = JSONCoding.encodedFloats
    return encoder
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .value(let value, let type): try container.encode(ExportedValue(value, type))
    case .object(let id): try container.encode(id.shortText)
    case .objects(let ids): try container.encode(ids.map(\.shortText))
    }
  }
}
