import Foundation

/// The terminal to which standard output is connected, if any.
enum Terminal {
  /// A Boolean value that indicates whether to show colours.
  ///
  /// Colours are shown if standard output is a terminal and `NO_COLOR` is unset or empty.
  static let hasColors =
    isatty(1) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

  /// The number of columns, or 80 if there is no terminal.
  static var width: Int { size.map { Int($0.ws_col) } ?? 80 }

  /// The number of lines, or 24 if there is no terminal.
  static var height: Int { size.map { Int($0.ws_row) } ?? 24 }

  private static var size: winsize? {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return size
  }
}

/// A text colour on the terminal.
///
/// The raw value is the code of the colour in ANSI escape sequences.
enum Color: Int {
  case red = 31
  case green = 32
  case yellow = 33
  case cyan = 36

  /// Returns the text in this colour.
  ///
  /// If colours are not shown, the method returns the text unchanged.
  func applied(to text: String) -> String {
    Terminal.hasColors ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// A line on the terminal that shows the progress of a long command.
///
/// The line is shown only if standard error is a terminal.
struct ProgressLine: Sendable {
  private let isOnTerminal = isatty(2) == 1

  /// Replaces the progress line.
  func show(_ text: @autoclosure () -> String) {
    if isOnTerminal { write("\r\u{1B}[K" + text()) }
  }

  /// Removes the progress line, so that other output can follow.
  func clear() {
    if isOnTerminal { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
