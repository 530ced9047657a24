import Foundation

/// The progress line on a terminal.
///
/// The line is written to standard error, and only if standard error is a terminal, so that the
/// line never appears in logs or pipes.
struct Progress: Sendable {
  private let isOnTerminal = isatty(2) == 1

  /// Replaces the progress line.
  func show(_ activity: String, fraction: Double) {
    let percent = Int(max(0, min(1, fraction)) * 100)
    let padding = String(repeating: " ", count: max(0, 26 - activity.count))
    write("\r\u{1B}[K\(activity)\(padding)\(percent) %")
  }

  /// Removes the progress line, so that other output can follow.
  func clear() {
    write("\r\u{1B}[K")
  }

  private func write(_ text: String) {
    guard isOnTerminal else { return }
    FileHandle.standardError.write(Data(text.utf8))
  }
}
