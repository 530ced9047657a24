import Foundation

extension StoredValue {
  /// The string, or `nil` if the value is not a string.
  var string: String? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The value as text for error messages and logs, or `nil` for `null`.
  var text: String? {
    switch self {
    case .null: nil
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .largeInteger(let value): "\(value)"
    case .double(bits: let bits): "\(Double(bitPattern: bits))"
    case .date(bits: let bits):
      ExactDates.roundedText(
        of: Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    case .uuid(let high, let low): Self.uuid(high, low).uuidString
    case .string(let text): text
    case .bytes(let bytes): Data(bytes).base64EncodedString()
    }
  }

  private static func uuid(_ high: UInt64, _ low: UInt64) -> UUID {
    let value = StoredValue.uuid(high: high, low: low)
    return (try? UUID(storedValue: value)) ?? UUID()
  }
}
