import Foundation

/// The reader of the standard output has left: there is nobody to tell more.
struct ClosedOutput: Error {}

/// The standard output, in large pieces.
final class Output {
  /// Whether a person reads it, not a program.
  let isTerminal = isatty(1) == 1
  /// Whether colours are wanted: on a terminal, unless the environment says no.
  let hasColors: Bool
  private var pending = Data()
  private static let pieceByteCount = 64 << 10

  init() {
    let refusal = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
    hasColors = isTerminal && refusal.isEmpty
  }

  /// The columns of the terminal; 100 where there is none.
  var width: Int {
    var size = winsize()
    guard isTerminal, ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 100 }
    return Int(size.ws_col)
  }

  /// Writes a line of text.
  func line(_ text: String = "") throws { try write(text + "\n") }

  /// Writes text.
  ///
  /// - Throws: ``ClosedOutput`` if nobody reads it; ``ToolFailure`` if it cannot be written.
  func write(_ text: String) throws {
    pending.append(contentsOf: text.utf8)
    if pending.count >= Self.pieceByteCount { try flush() }
  }

  /// Writes a value as the one JSON document of a command.
  func json(_ value: some Encodable) throws { try line(try JSONText.document(of: value)) }

  /// Writes what is still pending.
  func flush() throws {
    let piece = pending
    pending = Data()
    var start = piece.startIndex
    while start < piece.endIndex {
      let rest = piece[start...]
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      if count >= 0 {
        start += count
      } else if errno == EPIPE {
        throw ClosedOutput()
      } else if errno != EINTR {
        throw ToolFailure.refused(
          "The output could not be written (\(String(cString: strerror(errno)))).")
      }
    }
  }
}
