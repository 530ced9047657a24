import Foundation

/// Any JSON value.
enum JSONValue: Codable, AttributeValue {
  case null
  case bool(Bool)
  case integer(Int64)
  case largeInteger(UInt64)
  case number(Double)
  /// A number with more digits than a `Double` can represent.
  case decimal(Decimal)
  case text(String)
  case array([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self), value == 0, value.sign == .minus {
      // Keep -0 as a floating-point number, because integers have no negative zero.
      self = .number(value)
    } else if let value = try? container.decode(Int64.self), container.holds(Decimal(value)) {
      self = .integer(value)
    } else if let value = try? container.decode(UInt64.self), container.holds(Decimal(value)) {
      self = .largeInteger(value)
    } else if let value = try? container.decode(Double.self) {
      self = container.digits(besides: value).map { .decimal($0) } ?? .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .largeInteger(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .decimal(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension SingleValueDecodingContainer {
  /// Returns whether the decoded number exactly equals the given number.
  ///
  /// A decoder may round a number with a fraction to an integer.
  fileprivate func holds(_ value: Decimal) -> Bool {
    (try? decode(Decimal.self)).map { $0 == value } ?? true
  }

  /// Returns the decoded number if it has more digits than the shortest decimal representation of
  /// `value`; otherwise, returns `nil`.
  ///
  /// - Parameter value: The `Double` that is closest to the number.
  fileprivate func digits(besides value: Double) -> Decimal? {
    guard let exact = try? decode(Decimal.self), Double("\(exact)") == value else { return nil }
    let shortest = Decimal(string: "\(value)", locale: Locale(identifier: "en_US_POSIX"))
    return shortest == exact ? nil : exact
  }
}
