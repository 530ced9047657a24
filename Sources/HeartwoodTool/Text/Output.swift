import Foundation

/// The error that is thrown if the reader of standard output closes the pipe early, as `head` does
/// once it has enough lines.
struct ClosedOutput: Error {}

/// The buffered standard output.
final class Output {
  /// A Boolean value that indicates whether the output is a terminal.
  let isTerminal = isatty(1) == 1
  /// A Boolean value that indicates whether the output uses colours.
  ///
  /// The output uses colours if it is a terminal and the environment variable `NO_COLOR` is unset
  /// or empty.
  let hasColors: Bool
  /// The exit code of the command if the reader closes the output.
  ///
  /// Once a command's result is known, the command sets this code and then writes the result.
  var exitCodeIfClosed = ExitCode.fine
  private var pending = Data()
  private var pager: Pager?
  private static let chunkByteCount = 64 << 10

  init() {
    let refusal = ProcessInfo.processInfo.environment["NO_COLOR"] ?? ""
    hasColors = isTerminal && refusal.isEmpty
  }

  /// The number of columns of the terminal, or 100 if the output is not a terminal.
  var width: Int {
    var size = winsize()
    guard isTerminal, ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 100 }
    return Int(size.ws_col)
  }

  /// Writes a line of text.
  func line(_ text: String = "") throws { try write(text + "\n") }

  /// Writes text.
  ///
  /// - Throws: ``ClosedOutput`` if the reader has closed the output, or ``ToolFailure`` if the
  ///   output cannot be written.
  func write(_ text: String) throws {
    pending.append(contentsOf: text.utf8)
    if pending.count >= Self.chunkByteCount { try flush() }
  }

  /// Writes text that is already encoded as UTF-8.
  func write(_ text: Data) throws {
    pending.append(text)
    if pending.count >= Self.chunkByteCount { try flush() }
  }

  /// Writes a value as the only JSON document of a command.
  func json(_ value: some Encodable) throws { try line(try JSONText.document(of: value)) }

  /// Starts a pager for all further output, if the output goes to a terminal.
  func startPager() {
    if isTerminal { pager = Pager() }
  }

  /// Waits until the user has quit the pager, if one is running.
  func endPager() {
    pager?.finish()
    pager = nil
  }

  /// Waits for the given time.
  ///
  /// - Throws: ``ClosedOutput`` if the reader closes the output during the wait.
  func wait(milliseconds: Int32) throws {
    var output = pollfd(fd: 1, events: 0, revents: 0)
    // Request no events: the call then reports only the end of a pipe or socket, and otherwise
    // waits for the full time.
    guard poll(&output, 1, milliseconds) > 0 else { return }
    throw ClosedOutput()
  }

  /// Writes the buffered output, and waits for the given time before the next run of a task.
  ///
  /// - Parameter task: A plural noun for the repeated task, such as "backups", for use in messages.
  /// - Throws: ``ToolFailure`` if the reader closes the output, which ends the task.
  func pause(milliseconds: Int32, before task: String) throws {
    do {
      try flush()
      try wait(milliseconds: milliseconds)
    } catch is ClosedOutput {
      throw ToolFailure.refused(
        "The \(task) have stopped, because the program that was reading the output closed it. Run "
          + "the command again. If no program will read the output, redirect it to a file.")
    }
  }

  /// Writes a line to standard error.
  static func warn(_ sentence: String) {
    // Ignore write errors, because standard error may be closed.
    let line = "heartwoodctl: " + QuotedText.escaped(sentence) + "\n"
    try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
  }

  /// Writes the buffered output.
  func flush() throws {
    let chunk = pending
    pending = Data()
    var start = chunk.startIndex
    while start < chunk.endIndex {
      let rest = chunk[start...]
      let descriptor = pager?.descriptor ?? 1
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        start += count
      } else if errno == EPIPE {
        throw ClosedOutput()
      } else if errno != EINTR {
        throw ToolFailure.refused(
          "The output could not be written (\(String(cString: strerror(errno)))). Redirect the "
            + "output to another file.")
      }
    }
  }
}
