import Foundation

// How values are shown: to people in columns, and to programs as JSON.

extension String {
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }

  /// The text without characters that could disturb a terminal: feeds come from others.
  var visible: String {
    String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
  }
}

extension Int {
  /// The number with a comma between each three digits.
  var grouped: String { formatted(.number.locale(Locale(identifier: "en_US"))) }
}

extension Double {
  /// The number with one digit behind the point.
  var short: String {
    // Without a sign where it comes to zero.
    String(format: "%.1f", (self * 10).rounded() / 10 + 0)
  }
}

extension Date {
  /// The time in UTC, as in "2019-02-16 23:46:15".
  var shown: String {
    formatted(
      .iso8601.year().month().day().dateTimeSeparator(.space).time(
        includingFractionalSeconds: false))
  }

  /// The time in UTC to the millisecond, as in "2019-02-16T23:46:15.470Z".
  // The style cuts what is behind the milliseconds, and a date may be a little below its own.
  var exact: String { (self + 0.0001).formatted(Date.ISO8601FormatStyle.exact) }

  /// The day in UTC, as in "2019-02-16".
  var day: String { formatted(.iso8601.year().month().day()) }
}

extension ParseStrategy where Self == Date.ISO8601FormatStyle {
  /// Times to the millisecond.
  static var exact: Self { Date.ISO8601FormatStyle(includingFractionalSeconds: true) }
}

/// A value as JSON, times as text in UTC.
///
/// - Parameter isOneLine: Whether it is on one line, so that others can follow.
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
