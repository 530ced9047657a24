import Foundation

extension StorageType {
  /// The zero or empty value of this type.
  ///
  /// For `Codable` types, this value is the JSON value `null`, because the actual types are not
  /// known. A property of a type that cannot decode `null` shows its default instead (V-04).
  var zero: StoredValue {
    switch self {
    case .bool: .bool(false)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: .integer(0)
    case .uint64: UInt64(0).storedValue
    case .float, .double: .double(0)
    case .date: .date(bits: 0)
    case .uuid: .uuid(high: 0, low: 0)
    case .string: .string("")
    case .bytes: .bytes([])
    case .decimal: .string("0")
    case .json: .bytes([UInt8]("null".utf8))
    case .reference: .null
    }
  }

  /// Returns the value represented by a string, or `nil` if the string does not represent a value
  /// of this type.
  package func value(_ text: String) throws -> StoredValue? {
    switch self {
    case .bool:
      switch text {
      case "true", "1": .bool(true)
      case "false", "0": .bool(false)
      default: nil
      }
    case .int8: Int8(text)?.storedValue
    case .int16: Int16(text)?.storedValue
    case .int32: Int32(text)?.storedValue
    case .int64: Int64(text)?.storedValue
    case .uint8: UInt8(text)?.storedValue
    case .uint16: UInt16(text)?.storedValue
    case .uint32: UInt32(text)?.storedValue
    case .uint64: UInt64(text)?.storedValue
    case .float:
      Float(text).flatMap { $0.isInfinite && !Self.isInfinity(text) ? nil : $0.storedValue }
    case .double:
      Double(text).flatMap { $0.isInfinite && !Self.isInfinity(text) ? nil : $0.storedValue }
    case .date: ExactDates.date(from: text)?.storedValue
    case .uuid: UUID(uuidString: text)?.storedValue
    case .string: .string(text)
    case .bytes: Data(base64Encoded: text)?.storedValue
    case .decimal:
      // Check the entire text, because `Decimal` reads a number at the beginning of the text and
      // ignores the rest.
      text.wholeMatch(of: /[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?/) == nil
        ? nil : Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))?.storedValue
    case .json:
      try (try? JSONCoding.decode(JSONValue.self, from: Data(text.utf8)))?.storedValue
    case .reference: nil
    }
  }

  /// Returns the text that represents a deleted object's value in the history, or `nil` for `null`.
  ///
  /// Dates and `Codable` values are written so that ``preservedValue(_:)`` restores them exactly.
  func preservedText(of value: StoredValue) -> String? {
    switch value {
    case .date(bits: let bits):
      let date = Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
      let rounded = ExactDates.roundedText(of: date)
      return ExactDates.date(from: rounded) == date ? rounded : ExactDates.text(of: date)
    case .bytes(let bytes) where self == .json: return String(decoding: bytes, as: UTF8.self)
    default: return value.text
    }
  }

  /// Returns the value that a string in the history represents, or `nil` if the string does not
  /// represent a value of this type.
  func preservedValue(_ text: String) -> StoredValue? {
    let value = try? value(text)
    guard self == .json else { return value }
    // Return the bytes of the text, because encoding the decoded value again could change them. If
    // the text is not valid JSON, it comes from an older history and contains the bytes in base64.
    return value == nil ? Data(base64Encoded: text)?.storedValue : .bytes([UInt8](text.utf8))
  }

  /// Returns whether a string represents infinity, rather than a number that is out of range.
  private static func isInfinity(_ text: String) -> Bool { text.lowercased().contains("inf") }
}
