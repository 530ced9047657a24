import Foundation
import Heartwood

/// Functions that parse and format points in time.
enum TimeText {
  /// Returns the time that a string represents, in milliseconds since 1970, or `nil` if the string
  /// is not a time.
  ///
  /// The string is a date in ISO 8601 format, optionally followed by a time of day and an offset
  /// from UTC. A date without a time of day represents the start of that day. A time without an
  /// offset is interpreted as UTC.
  static func milliseconds(_ text: String) -> UInt64? {
    let form =
      /([0-9-]{10})(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9.]+)?(?: ?(?:Z|UTC|([+-][0-9:]+)))?)?/
    guard let (_, day, time, seconds, offset) = text.wholeMatch(of: form)?.output,
      let date = ExactDates.date(
        from: "\(day)T\(time ?? "00:00")\(seconds ?? ":00")\(offset ?? "Z")")
    else { return nil }
    return UInt64(max((date.timeIntervalSince1970 * 1000).rounded(), 0))
  }

  /// Formats a number of milliseconds since 1970 as a UTC time in ISO 8601 format.
  static func text(_ milliseconds: UInt64) -> String {
    text(Date(timeIntervalSince1970: Double(milliseconds) / 1000))
  }

  /// Formats a date as a UTC time in ISO 8601 format, rounded to the nearest millisecond.
  static func text(_ date: Date) -> String { ExactDates.roundedText(of: date) }
}
