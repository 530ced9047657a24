import Foundation

/// A time that was typed: an instant, or all of a second or a day.
struct Moment {
  /// When it begins.
  let start: Date
  /// When it ends, which is its start for an instant.
  let end: Date

  /// What to type, for complaints.
  static let wanted = "a day, such as 2019-02-16, or 7d"

  /// Reads a day, a time of day in UTC, or a length of time before now; `nil` for anything else.
  init?(_ text: String) {
    let seconds: [Character: Double] = ["m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    if let unit = text.last.flatMap({ seconds[$0] }), let count = Double(text.dropLast()) {
      guard count.isFinite else { return nil }
      start = Date(timeIntervalSinceNow: -count * unit)
      end = start
      return
    }
    // The strategies do not mind what follows a date: only what is read to its end is one.
    if let day = try? Date(text, strategy: .iso8601.year().month().day()), day.day == text {
      start = day
      end = day + 86_399.9995
    } else if let time = try? Date(text, strategy: .iso8601), time.formatted(.iso8601) == text {
      start = time
      end = time + 0.9995
    } else if let time = try? Date(text, strategy: .exact), time.exact == text {
      start = time
      // Milliseconds are no fractions of two.
      end = time + 0.0005
    } else {
      return nil
    }
  }
}
