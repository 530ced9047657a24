/// The stored form of an attribute's value.
///
/// Attributes are stored, compared, indexed and written to the history in this form. Two values are
/// equal if their bits are equal, so NaN equals NaN. However, strings are compared as in Swift, so
/// two strings can be equal even if their Unicode compositions differ. ``isIdentical(to:)`` also
/// distinguishes compositions.
public enum StoredValue: Hashable, Codable, Sendable {
  /// The absence of a value, which corresponds to `nil`.
  case null
  /// A Boolean value.
  case bool(Bool)
  /// An integer of any width that fits in `Int64`.
  case integer(Int64)
  /// An integer that is greater than `Int64.max`.
  case largeInteger(UInt64)
  /// A floating-point number, given by its bits.
  case double(bits: UInt64)
  /// A point in time: the bits of a `Double` that counts seconds since the start of 2001 (UTC).
  case date(bits: UInt64)
  /// A UUID, given by its first and last eight bytes, each as a big-endian integer.
  case uuid(high: UInt64, low: UInt64)
  /// A string.
  case string(String)
  /// A sequence of bytes.
  case bytes([UInt8])

  // Never change these keys, because they occur in stored JSON.
  private enum CodingKeys: String, CodingKey {
    case null, bool, integer, largeInteger, date, uuid, string, bytes
    case double = "number"
  }
  private enum DoubleCodingKeys: String, CodingKey { case bits = "_0" }
  private enum DateCodingKeys: String, CodingKey { case bits = "_0" }

  /// Creates a floating-point number.
  public static func double(_ value: Double) -> StoredValue { .double(bits: value.bitPattern) }

  /// Creates an integer that may be greater than `Int64.max`.
  public static func unsigned(_ value: UInt64) -> StoredValue {
    Int64(exactly: value).map { .integer($0) } ?? .largeInteger(value)
  }

  /// The value as an `Int128`, or `nil` if the value is not an integer.
  var wideInteger: Int128? {
    switch self {
    case .integer(let value): Int128(value)
    case .largeInteger(let value): Int128(value)
    default: nil
    }
  }

  /// A Boolean value that indicates whether the value is `null`.
  public var isNull: Bool { if case .null = self { true } else { false } }
}

/// The representation of an attribute's values in a record.
///
/// The raw values are part of the file format.
public enum StorageType: UInt8, CaseIterable, Codable, Sendable {
  /// A Boolean value.
  case bool = 1
  /// An 8-bit integer.
  case int8 = 2
  /// A 16-bit integer.
  case int16 = 3
  /// A 32-bit integer.
  case int32 = 4
  /// A 64-bit integer.
  case int64 = 5
  /// An unsigned 8-bit integer.
  case uint8 = 6
  /// An unsigned 16-bit integer.
  case uint16 = 7
  /// An unsigned 32-bit integer.
  case uint32 = 8
  /// An unsigned 64-bit integer.
  case uint64 = 9
  /// A 32-bit floating-point number.
  case float = 10
  /// A 64-bit floating-point number.
  case double = 11
  /// A point in time, stored as the number of seconds since the start of 2001 (UTC).
  case date = 12
  /// A UUID, stored as two halves of 8 bytes, each in reverse byte order.
  case uuid = 13
  /// A string, stored as UTF-8.
  case string = 14
  /// A sequence of bytes, stored unchanged.
  case bytes = 15
  /// A decimal number, stored as text.
  case decimal = 16
  /// A value of a `Codable` type, stored as JSON.
  case json = 17
  /// A reference to another object, stored as the object's number.
  case reference = 18

  /// The size of a value in the fixed part of a record, in bytes.
  ///
  /// The size is 0 if values are stored in the variable part.
  var byteCount: Int {
    switch self {
    case .bool, .int8, .uint8: 1
    case .int16, .uint16: 2
    case .int32, .uint32, .float: 4
    case .int64, .uint64, .double, .date, .reference: 8
    case .uuid: 16
    case .string, .bytes, .decimal, .json: 0
    }
  }

  /// The storage type as a noun phrase with an article, for use in messages.
  var phrase: String {
    switch self {
    case .bool: "a boolean"
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: "an integer"
    case .float, .double: "a floating-point number"
    case .date: "a date"
    case .uuid: "a UUID"
    case .string: "a string"
    case .bytes: "binary data"
    case .decimal: "a decimal number"
    case .json: "a value of a Codable type"
    case .reference: "another object"
    }
  }
}
