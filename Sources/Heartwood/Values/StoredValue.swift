/// A value as a record holds it: one of a closed set of forms.
///
/// Every attribute of a model is one of these when it is stored, compared, put into an index or
/// written into the history. Two are equal if they are the same bits, so that NaN is no change of
/// NaN; texts are equal as the language has it, however their letters are composed.
/// ``isIdentical(to:)`` tells those apart too.
public enum StoredValue: Hashable, Codable, Sendable {
  /// No value: `nil`.
  case null
  /// A boolean.
  case bool(Bool)
  /// An integer of any width that fits.
  case integer(Int64)
  /// An integer above `Int64.max`.
  case largeInteger(UInt64)
  /// A floating-point number, by its bits.
  case number(UInt64)
  /// A point in time: seconds since the start of 2001 (UTC), by the bits of a `Double`.
  case date(UInt64)
  /// The first and the last eight bytes of a UUID, most significant byte first.
  case uuid(high: UInt64, low: UInt64)
  /// A string.
  case string(String)
  /// Bytes.
  case bytes([UInt8])

  /// A floating-point number.
  public static func number(_ value: Double) -> StoredValue { .number(value.bitPattern) }

  /// An integer above `Int64.max` or not.
  public static func unsigned(_ value: UInt64) -> StoredValue {
    Int64(exactly: value).map { .integer($0) } ?? .largeInteger(value)
  }

  /// The integer this is, whatever its width; `nil` if it is none.
  var wideInteger: Int128? {
    switch self {
    case .integer(let value): Int128(value)
    case .largeInteger(let value): Int128(value)
    default: nil
    }
  }

  /// Whether there is no value.
  public var isNull: Bool { self == .null }
}

/// How the values of an attribute lie in a record.
///
/// The raw values are constants of the format.
public enum StoredForm: UInt8, CaseIterable, Codable, Sendable {
  /// False or true.
  case bool = 1
  /// An integer of 8 bits.
  case int8 = 2
  /// An integer of 16 bits.
  case int16 = 3
  /// An integer of 32 bits.
  case int32 = 4
  /// An integer of 64 bits.
  case int64 = 5
  /// An integer of 8 bits without a sign.
  case uint8 = 6
  /// An integer of 16 bits without a sign.
  case uint16 = 7
  /// An integer of 32 bits without a sign.
  case uint32 = 8
  /// An integer of 64 bits without a sign.
  case uint64 = 9
  /// A floating-point number of 32 bits.
  case float = 10
  /// A floating-point number of 64 bits.
  case double = 11
  /// Seconds since 2001.
  case date = 12
  /// Its 16 bytes.
  case uuid = 13
  /// UTF-8.
  case string = 14
  /// Bytes as they are.
  case bytes = 15
  /// A decimal number, written out.
  case decimal = 16
  /// JSON, of a type of the user's.
  case json = 17
  /// Another object, by its number.
  case reference = 18

  /// The bytes of a value in the fixed part of a record; 0 if it lies in the variable part.
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

  /// The form in a sentence, with its article.
  var sentence: String {
    switch self {
    case .bool: "a boolean"
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: "an integer"
    case .float, .double: "a floating-point number"
    case .date: "a date"
    case .uuid: "a UUID"
    case .string: "a string"
    case .bytes: "bytes"
    case .decimal: "a decimal number"
    case .json: "a value of a type of its own"
    case .reference: "another object"
    }
  }
}
