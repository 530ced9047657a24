import Foundation

// These extensions and functions format values as text for people and as JSON for programs.

extension String {
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }

  /// The string with each control character replaced by a space, so that text from a feed cannot
  /// disturb the terminal.
  var visible: String {
    String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
  }
}

extension Int {
  /// The number as text with thousands separators.
  var grouped: String { formatted(.number.locale(Locale(identifier: "en_US"))) }

  /// The number as a count of quakes, such as "1 quake" or "1,200 quakes".
  var quakes: String { grouped + (self == 1 ? " quake" : " quakes") }
}

extension Double {
  /// The number as text with one decimal place.
  var short: String {
    // Add 0 to convert -0 to 0, because -0 would be shown as "-0.0".
    String(format: "%.1f", (self * 10).rounded() / 10 + 0)
  }
}

extension Date {
  /// The time in UTC, such as "2019-02-16 23:46:15".
  var shown: String {
    formatted(
      .iso8601.year().month().day().dateTimeSeparator(.space).time(
        includingFractionalSeconds: false))
  }

  /// The time in UTC to the millisecond, such as "2019-02-16T23:46:15.470Z".
  // Add a tenth of a millisecond, because a date can be slightly below its exact value, and the
  // format style truncates to milliseconds.
  var exact: String { (self + 0.0001).formatted(Date.ISO8601FormatStyle.exact) }

  /// The day in UTC, such as "2019-02-16".
  var day: String { formatted(.iso8601.year().month().day()) }
}

extension ParseStrategy where Self == Date.ISO8601FormatStyle {
  /// The ISO 8601 format with milliseconds.
  static var exact: Self { Date.ISO8601FormatStyle(includingFractionalSeconds: true) }
}

/// Returns a value encoded as JSON, with dates as strings in UTC.
///
/// - Parameter isOneLine: Whether to put the JSON on a single line, so that a program can read the
///   output line by line.
func json(_ value: some Encodable, isOneLine: Bool = false) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  if !isOneLine { encoder.outputFormatting.insert(.prettyPrinted) }
  encoder.dateEncodingStrategy = .custom { date, encoder in
    var container = encoder.singleValueContainer()
    try container.encode(date.exact)
  }
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}

/// Prints a value as JSON.
func printJSON(_ value: some Encodable) throws { print(try json(value)) }
