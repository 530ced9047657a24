import Foundation

/// Functions that parse and format points in time.
enum TimeText {
  /// Returns the time that an ISO 8601 string specifies, or `nil` if the string is invalid.
  ///
  /// A date without a time means the start of that day. A string without a time zone is interpreted
  /// as UTC.
  static func date(_ text: String) -> Date? {
    let full = text.replacing(" ", with: "T")
    for style in [
      Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle(),
    ] {
      if let date = try? style.parse(full) { return date }
      if let date = try? style.parse(full + "Z") { return date }
    }
    return try? Date.ISO8601FormatStyle().year().month().day().parse(text)
  }
}
