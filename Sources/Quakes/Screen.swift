import Foundation

/// The screen and the keyboard of a terminal.
final class Screen {
  /// An event at the terminal.
  enum Event {
    case key(UInt8)
    case resized
    /// A request by the user or the system to end the program.
    case ended
  }

  private var original = termios()
  private var sources: [any DispatchSourceProtocol] = []

  /// Creates a screen that uses the terminal's alternate buffer, and starts to report events.
  ///
  /// ``close()`` restores the original screen.
  ///
  /// - Parameter handler: A closure that is called with each event, on any thread.
  init(_ handler: @escaping @Sendable (Event) -> Void) {
    if tcgetattr(0, &original) == 0 {
      var raw = original
      // Use raw mode, in which each key arrives immediately and is not echoed. Keys must not send
      // signals, because the program must restore the screen before it ends.
      raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
      tcsetattr(0, TCSANOW, &raw)
      observeKeys(handler)
    }
    observe(SIGWINCH) { handler(.resized) }
    for number in [SIGINT, SIGTERM, SIGHUP] { observe(number) { handler(.ended) } }
    Self.write("\u{1B}[?1049h\u{1B}[?25l")
  }

  /// Restores the original screen.
  func close() {
    for source in sources { source.cancel() }
    Self.write("\u{1B}[?25h\u{1B}[?1049l")
    tcsetattr(0, TCSANOW, &original)
  }

  /// Shows lines at the top of the screen, and clears the rest.
  func show(_ lines: [String]) {
    Self.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }

  private func observeKeys(_ handler: @escaping @Sendable (Event) -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: 0)
    source.setEventHandler {
      var byte: UInt8 = 0
      // A failed read means that the terminal was closed, so end the program.
      guard read(0, &byte, 1) == 1 else { return handler(.ended) }
      handler(.key(byte))
    }
    source.resume()
    sources.append(source)
  }

  private func observe(_ signalNumber: Int32, _ handler: @escaping @Sendable () -> Void) {
    #if canImport(Darwin)
      // Ignore the signal, because on Darwin, its default action would end the program despite the
      // dispatch source.
      signal(signalNumber, SIG_IGN)
    #endif
    let source = DispatchSource.makeSignalSource(signal: signalNumber)
    source.setEventHandler(handler: handler)
    source.resume()
    sources.append(source)
  }

  /// Writes text to standard output immediately, unlike `print`, which may buffer the text.
  static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
