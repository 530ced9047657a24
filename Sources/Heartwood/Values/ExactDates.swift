package import Foundation

/// Conversions between dates and ISO 8601 text, with enough fractional digits to restore the exact
/// date.
///
/// ISO 8601 extends the Gregorian calendar to all years. Foundation's formats are not used, because
/// they follow the Julian calendar before 1582. A date outside the years 0 to 9999 is written as
/// the number of seconds since 2001.
package enum ExactDates {
  static let encoding = JSONEncoder.DateEncodingStrategy.custom { date, encoder in
    var container = encoder.singleValueContainer()
    try container.encode(text(of: date))
  }

  static let decoding = JSONDecoder.DateDecodingStrategy.custom { decoder in
    try date(in: decoder.singleValueContainer())
  }

  /// A decoding strategy that accepts ISO 8601 text and numbers of seconds since 2001.
  ///
  /// Programs store dates inside `Codable` values as numbers, but feeds and exports contain them as
  /// text. A tool that does not have the `Codable` types stores this text unchanged.
  static let decodingOfAnyForm = JSONDecoder.DateDecodingStrategy.custom { decoder in
    let container = try decoder.singleValueContainer()
    if let seconds = try? container.decode(Double.self) {
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
    return try date(in: container)
  }

  private static func date(in container: any SingleValueDecodingContainer) throws -> Date {
    let text = try container.decode(String.self)
    guard let date = date(from: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The text \"\(text)\" is not a date in ISO 8601 format.")
    }
    return date
  }

  /// The range of dates with four-digit years, in seconds since 2001.
  private static let years = -63_145_526_400.0..<252_423_993_600.0

  /// Returns a date as ISO 8601 text.
  package static func text(of date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    guard years.contains(seconds) else { return "\(seconds)" }
    let whole = seconds.rounded(.down)
    let text = text(ofWholeSeconds: Int(whole))
    guard seconds > whole else { return text + "Z" }
    func exactText(digitCount: Int) -> String {
      let limit = pow(10, Double(digitCount))
      let scaled = min(((seconds - whole) * limit).rounded(), limit - 1)
      return "\(text).\(digits(Int(scaled), digitCount))Z"
    }
    return [3, 6, 9, 12].lazy.map(exactText(digitCount:)).first { self.date(from: $0) == date }
      ?? exactText(digitCount: 15)
  }

  /// Returns a date as ISO 8601 text, rounded to milliseconds.
  package static func roundedText(of date: Date) -> String {
    let milliseconds = (date.timeIntervalSinceReferenceDate * 1000).rounded()
    guard years.contains(milliseconds / 1000) else { return text(of: date) }
    let (seconds, rest) = Int(milliseconds).dividedRoundingDown(by: 1000)
    return "\(text(ofWholeSeconds: seconds)).\(digits(rest, 3))Z"
  }

  /// Returns the date represented by a string, or `nil` if the string is not a date.
  package static func date(from text: String) -> Date? {
    var rest = Substring(text).utf8
    guard let year = number(&rest, digitCount: 4), skip("-", &rest),
      let month = number(&rest, digitCount: 2), skip("-", &rest),
      let day = number(&rest, digitCount: 2), skip("T", &rest),
      let hour = number(&rest, digitCount: 2), skip(":", &rest),
      let minute = number(&rest, digitCount: 2), skip(":", &rest),
      let second = number(&rest, digitCount: 2),
      (1...12).contains(month), (1...dayCount(month, year)).contains(day), hour < 25, minute < 60,
      second < 61
    else {
      guard let seconds = Double(text), !years.contains(seconds) else { return nil }
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
    var fraction = 0.0
    if skip(".", &rest) {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      guard !digits.isEmpty, let value = Double("0." + (String(digits) ?? "")) else { return nil }
      fraction = value
      rest = rest[digits.endIndex...]
    }
    guard let offset = offset(rest) else { return nil }
    let time = hour * 3600 + minute * 60 + second - offset
    return Date(
      timeIntervalSinceReferenceDate: Double(days(year, month, day) * 86_400 + time) + fraction)
  }

  // MARK: Text

  private static func skip(_ sign: Character, _ rest: inout Substring.UTF8View) -> Bool {
    guard rest.first == sign.asciiValue else { return false }
    rest.removeFirst()
    return true
  }

  private static func number(_ rest: inout Substring.UTF8View, digitCount: Int) -> Int? {
    let digits = rest.prefix(digitCount)
    guard digits.count == digitCount, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    rest = rest.dropFirst(digitCount)
    return digits.reduce(0) { $0 * 10 + Int($1) - 0x30 }
  }

  /// Returns the offset of a time zone in seconds, or `nil` if the text is not a valid time zone.
  ///
  /// Examples of valid text are `Z`, `+01:00` and `-0330`.
  private static func offset(_ text: Substring.UTF8View) -> Int? {
    var rest = text
    if skip("Z", &rest) { return rest.isEmpty ? 0 : nil }
    let isNegative = skip("-", &rest)
    guard isNegative || skip("+", &rest), let hours = number(&rest, digitCount: 2) else {
      return nil
    }
    _ = skip(":", &rest)
    let minutes = rest.isEmpty ? 0 : number(&rest, digitCount: 2)
    guard let minutes, rest.isEmpty, hours < 24, minutes < 60 else { return nil }
    return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
  }

  /// Returns `number` as decimal text, padded with zeros to at least `count` digits.
  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  private static func text(ofWholeSeconds seconds: Int) -> String {
    let (days, time) = seconds.dividedRoundingDown(by: 86_400)
    let (year, month, day) = date(ofDay: days)
    return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
      + "T\(digits(time / 3600, 2)):\(digits(time / 60 % 60, 2)):\(digits(time % 60, 2))"
  }

  // MARK: Calendar

  // The formulas come from Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms". In these
  // formulas, a year begins in March, so that the leap day is the last day of the year.

  /// The number of days from 1 March 0000 to 1 January 2001.
  private static let epoch = 730_791
  private static let cycleDayCount = 146_097

  private static func dayCount(_ month: Int, _ year: Int) -> Int {
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? isLeapYear ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Returns the number of days from the first day of 2001 to a date.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let (cycle, cycleYear) = (month <= 2 ? year - 1 : year).dividedRoundingDown(by: 400)
    let yearDay = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return cycle * cycleDayCount + cycleYear * 365 + cycleYear / 4 - cycleYear / 100 + yearDay
      - epoch
  }

  private static func date(ofDay days: Int) -> (year: Int, month: Int, day: Int) {
    let (cycle, day) = (days + epoch).dividedRoundingDown(by: cycleDayCount)
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
    let yearDay = day - (365 * year + year / 4 - year / 100)
    let shifted = (5 * yearDay + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (
      cycle * 400 + year + (month <= 2 ? 1 : 0), month, yearDay - (153 * shifted + 2) / 5 + 1
    )
  }
}

extension Int {
  /// Returns the quotient, rounded down, and the non-negative remainder.
  fileprivate func dividedRoundingDown(by divisor: Int) -> (Int, Int) {
    let remainder = (self % divisor + divisor) % divisor
    return ((self - remainder) / divisor, remainder)
  }
}
