import Foundation

/// A time argument: an instant, or an entire second or day.
struct Moment {
  /// The start.
  let start: Date
  /// The end, which equals the start for an instant.
  let end: Date

  /// The expected form, for errors.
  static let wanted = "a day, such as 2019-02-16, or 7d"

  /// Parses a day, a time in UTC, or a duration before now; `nil` for anything else.
  init?(_ text: String) {
    let seconds: [Character: Double] = ["m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    if let unit = text.last.flatMap({ seconds[$0] }), let count = Double(text.dropLast()) {
      guard count.isFinite else { return nil }
      start = Date(timeIntervalSinceNow: -count * unit)
      end = start
      return
    }
    // The strategies ignore trailing characters: a text is valid only if its date formats to it.
    if let day = try? Date(text, strategy: .iso8601.year().month().day()), day.day == text {
      start = day
      end = day + 86_399.9995
    } else if let time = try? Date(text, strategy: .iso8601), time.formatted(.iso8601) == text {
      start = time
      end = time + 0.9995
    } else if let time = try? Date(text, strategy: .exact), time.exact == text {
      start = time
      // A millisecond has no exact binary fraction.
      end = time + 0.0005
    } else {
      return nil
    }
  }
}
