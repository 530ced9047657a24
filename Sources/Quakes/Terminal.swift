import Foundation

/// The terminal the output goes to, if it is one.
enum Terminal {
  /// Whether colours are wanted: on a terminal, unless the environment says no.
  static let hasColors =
    isatty(1) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty

  /// The columns of a line; 80 where there is no terminal.
  static var width: Int { size.map { Int($0.ws_col) } ?? 80 }

  /// The lines of the screen; 24 where there is no terminal.
  static var height: Int { size.map { Int($0.ws_row) } ?? 24 }

  private static var size: winsize? {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return size
  }
}

/// A colour, by its number in the escape sequences of terminals.
enum Color: Int {
  case red = 31
  case green = 32
  case yellow = 33
  case cyan = 36

  /// The text in this colour, where colours are wanted.
  func applied(to text: String) -> String {
    Terminal.hasColors ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}

/// The line that says how far a long command is; only where the standard error is a terminal.
struct ProgressLine: Sendable {
  private let isOnTerminal = isatty(2) == 1

  /// Replaces the line.
  func show(_ text: @autoclosure () -> String) {
    if isOnTerminal { write("\r\u{1B}[K" + text()) }
  }

  /// Removes the line before other output.
  func clear() {
    if isOnTerminal { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
