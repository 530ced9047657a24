import Foundation
import HeartwoodEngine

/// A line on the terminal that shows the progress of a long command.
///
/// The line is written to standard error, and only if standard error is a terminal, so that it
/// never appears in a log or a pipe.
struct TerminalProgress {
  private let isOnTerminal = isatty(2) == 1

  /// Replaces the progress line.
  func show(_ activity: String, _ progress: StoreProgress) {
    let counts =
      "\(HumanText.count(progress.completedPageCount)) of "
      + HumanText.count(progress.totalPageCount, "page")
    write("\r\u{1B}[K\(activity)  \(Int(progress.fraction * 100)) %  \(counts)")
  }

  /// Replaces the progress line.
  func show(_ activity: String, elementCount: Int) {
    write("\r\u{1B}[K\(activity)  \(HumanText.count(elementCount, "element"))")
  }

  /// Removes the progress line, so that other output can follow.
  func clear() { write("\r\u{1B}[K") }

  private func write(_ text: String) {
    guard isOnTerminal else { return }
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
