/// The name of a backup file.
package struct BackupName: Hashable, Sendable {
  /// The generation that the file builds on, or `nil` if the file contains all pages.
  package let base: FrameNumber?
  package let frame: FrameNumber

  package init(base: FrameNumber?, frame: FrameNumber) {
    (self.base, self.frame) = (base, frame)
  }

  /// Parses a file name, or returns `nil` if the text does not have the form of a backup file's
  /// name.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    let numbers = parts.dropFirst().compactMap { Self.number($0) }
    guard numbers.count == parts.count - 1 else { return nil }
    switch (parts[0], numbers.count) {
    case ("full", 1): self.init(base: nil, frame: numbers[0])
    case ("delta", 2) where numbers[1] > numbers[0]:
      self.init(base: numbers[0], frame: numbers[1])
    default: return nil
    }
    guard self.text == text else { return nil }
  }

  /// The text of the file name.
  ///
  /// The text has the form `full-GENERATION` or `delta-BASE-GENERATION`. Each number has 16
  /// hexadecimal digits.
  package var text: String {
    guard let base else { return "full-" + Self.digits(frame) }
    return "delta-" + Self.digits(base) + "-" + Self.digits(frame)
  }

  private static func number(_ text: Substring) -> FrameNumber? {
    text.count == 16 ? FrameNumber(text, radix: 16) : nil
  }

  static func digits(_ number: FrameNumber) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }
}
