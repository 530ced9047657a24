import Foundation

/// A time given on the command line: an instant, or an entire second or day.
struct Moment {
  /// The start of the second or day, or the instant itself.
  let start: Date
  /// The end of the second or day, or the instant itself.
  let end: Date

  /// The expected form, for error messages.
  static let wanted = "a day, such as 2019-02-16, or 7d"

  /// Creates a moment from text that specifies a day, a time in UTC, or a duration before now.
  ///
  /// The result is `nil` if the text has none of these forms.
  init?(_ text: String) {
    let seconds: [Character: Double] = ["m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    if let unit = text.last.flatMap({ seconds[$0] }), let count = Double(text.dropLast()) {
      guard count.isFinite else { return nil }
      start = Date(timeIntervalSinceNow: -count * unit)
      end = start
      return
    }
    // Accept the text only if formatting the parsed date yields the same text, because the parse
    // strategies ignore trailing characters.
    if let day = try? Date(text, strategy: .iso8601.year().month().day()), day.day == text {
      start = day
      end = day + 86_399.9995
    } else if let time = try? Date(text, strategy: .iso8601), time.formatted(.iso8601) == text {
      start = time
      end = time + 0.9995
    } else if let time = try? Date(text, strategy: .exact), time.exact == text {
      start = time
      // Add half a millisecond, because rounding can make a stored time slightly later than the
      // same time on the command line.
      end = time + 0.0005
    } else {
      return nil
    }
  }
}
