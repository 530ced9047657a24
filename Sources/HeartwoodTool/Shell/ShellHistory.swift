import Foundation

/// The lines that the user has typed in this and earlier shell sessions.
final class ShellHistory {
  private(set) var lines: [String] = []
  private let file: URL?

  private static let maxCount = 1000

  /// Creates a history that contains the lines of the user's earlier sessions.
  init() {
    let environment = ProcessInfo.processInfo.environment
    let state =
      environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
      ?? environment["HOME"].map { $0 + "/.local/state" }
    file = state.map { URL(filePath: $0).appending(path: "heartwoodctl/history") }
    guard let file, let text = try? String(contentsOf: file, encoding: .utf8) else { return }
    lines = text.split(separator: "\n").suffix(Self.maxCount).map(String.init)
  }

  /// Appends a line, unless it is blank or equal to the last line.
  ///
  /// Errors are ignored, because the shell works without its history.
  func append(_ line: String) {
    guard line.contains(where: { !$0.isWhitespace }), line != lines.last else { return }
    lines = (lines + [line]).suffix(Self.maxCount)
    guard let file else { return }
    try? FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    let text = lines.joined(separator: "\n") + "\n"
    try? Data(text.utf8).write(to: file, options: .atomic)
  }
}
