import Foundation
import Heartwood

/// The JSON format of the tool: keys are sorted, sizes are in bytes, and times are in ISO 8601.
enum JSONText {
  /// Returns a value as an indented JSON document.
  static func document(of value: some Encodable) throws -> String {
    let encoder = ObjectValue.encoder()
    encoder.outputFormatting.insert(.prettyPrinted)
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Returns a value as JSON on one line.
  static func line(of value: some Encodable) throws -> String {
    String(decoding: try ObjectValue.encoder().encode(value), as: UTF8.self)
  }

  /// Returns a duration in milliseconds.
  static func milliseconds(_ duration: Duration) -> Int64 {
    let parts = duration.components
    return parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
  }

  /// Returns a number as a string of 16 hexadecimal digits.
  ///
  /// JSON parsers may round large numbers, but they do not change strings.
  static func digits(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
