import Foundation

/// Dates as ISO 8601 text with as many digits of the fraction of a second as a date needs, so that
/// reading the text returns the same date.
enum ExactDates {
  static let encoding = JSONEncoder.DateEncodingStrategy.custom { date, encoder in
    var container = encoder.singleValueContainer()
    try container.encode(text(of: date))
  }

  static let decoding = JSONDecoder.DateDecodingStrategy.custom { decoder in
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let date = date(from: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The text \"\(text)\" is not a date in ISO 8601 format.")
    }
    return date
  }

  private static let style = Date.ISO8601FormatStyle()

  static func text(of date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    let whole = seconds.rounded(.down)
    let text = style.format(Date(timeIntervalSinceReferenceDate: whole))
    guard seconds > whole, text.hasSuffix("Z") else { return text }
    for count in [3, 6, 9, 12, 15] {
      let scaled = ((seconds - whole) * pow(10, Double(count))).rounded()
      let digits = String(Int64(scaled))
      guard digits.count <= count else { continue }
      let zeros = String(repeating: "0", count: count - digits.count)
      let result = text.dropLast() + "." + zeros + digits + "Z"
      if self.date(from: String(result)) == date || count == 15 { return String(result) }
    }
    return text
  }

  /// Returns the date, or `nil` if the text is not one.
  static func date(from text: String) -> Date? {
    guard let point = text.firstIndex(of: ".") else { return try? style.parse(text) }
    let digits = text[text.index(after: point)...].prefix { $0.isASCII && $0.isNumber }
    guard !digits.isEmpty, let fraction = Double("0.\(digits)"),
      let date = try? style.parse(String(text[..<point] + text[digits.endIndex...]))
    else { return nil }
    return Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate + fraction)
  }
}
