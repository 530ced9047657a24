import Foundation

/// Functions that format numbers for human readers.
enum HumanText {
  /// Returns a count with commas between groups of three digits.
  static func count(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number.magnitude).reversed().enumerated() {
      if index > 0, index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return (number < 0 ? "-" : "") + String(text.reversed())
  }

  /// Returns a count with its noun, such as "1 page" or "1,204 pages".
  static func count(_ number: Int, _ noun: String) -> String {
    let plural = noun.hasSuffix("y") ? String(noun.dropLast()) + "ies" : noun + "s"
    return "\(count(number)) \(number == 1 ? noun : plural)"
  }

  /// Returns a number of bytes as text, such as "812 bytes" or "4.8 MiB".
  static func size(_ byteCount: Int) -> String {
    guard byteCount >= 1024 else { return count(byteCount, "byte") }
    var value = Double(byteCount) / 1024
    var units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][...]
    while value >= 1023.95, units.count > 1 {
      value /= 1024
      units.removeFirst()
    }
    return String(format: value < 99.95 ? "%.1f " : "%.0f ", value) + units[units.startIndex]
  }

  /// Returns an age as text, such as "3 s", "5 min", "7 h" or "12 days".
  static func age(_ age: Duration) -> String {
    let seconds = max(age.components.seconds, 0)
    if seconds < 120 { return "\(seconds) s" }
    if seconds < 120 * 60 { return "\(seconds / 60) min" }
    if seconds < 48 * 3600 { return "\(seconds / 3600) h" }
    return "\(count(Int(seconds / 86_400))) days"
  }

  /// Returns `count` as a percentage of `total`, such as "88.1 %", or "-" if `total` is 0.
  static func share(_ count: Int, of total: Int) -> String {
    guard total > 0 else { return "-" }
    return String(format: "%.1f %%", Double(count) / Double(total) * 100)
  }

  /// Returns the time that has passed since the given Unix time in milliseconds.
  ///
  /// The result is 0 if that time is in the future, for example because the clock was set back.
  static func age(since milliseconds: UInt64) -> Duration {
    let now = UInt64(max(Date().timeIntervalSince1970, 0) * 1000)
    return .milliseconds(now > milliseconds ? now - milliseconds : 0)
  }
}

extension String {
  /// Returns the text padded to the given width with trailing spaces.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// Returns the text padded to the given width with leading spaces.
  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - count)) + self
  }
}
