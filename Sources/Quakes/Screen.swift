import Foundation

/// The whole screen of a terminal and its keyboard, until it is closed.
final class Screen {
  /// What happens at the terminal.
  enum Event {
    case key(UInt8)
    case resized
    /// Somebody wants the program to end.
    case ended
  }

  private var original = termios()
  private var sources: [any DispatchSourceProtocol] = []

  /// Takes the screen; what was on it comes back at the end.
  ///
  /// - Parameter tell: Told of each event, on any thread.
  init(_ tell: @escaping @Sendable (Event) -> Void) {
    if tcgetattr(0, &original) == 0 {
      var raw = original
      // Each key comes at once, is not shown, and is no signal: the screen has to be given back.
      raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
      tcsetattr(0, TCSANOW, &raw)
      listenToKeys(tell)
    }
    listen(to: SIGWINCH) { tell(.resized) }
    for number in [SIGINT, SIGTERM, SIGHUP] { listen(to: number) { tell(.ended) } }
    Self.write("\u{1B}[?1049h\u{1B}[?25l")
  }

  /// Gives the screen back.
  func close() {
    for source in sources { source.cancel() }
    Self.write("\u{1B}[?25h\u{1B}[?1049l")
    tcsetattr(0, TCSANOW, &original)
  }

  /// Shows lines from the top; the rest of the screen is empty.
  func show(_ lines: [String]) {
    Self.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }

  private func listenToKeys(_ tell: @escaping @Sendable (Event) -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: 0)
    source.setEventHandler {
      var byte: UInt8 = 0
      // The terminal is gone.
      guard read(0, &byte, 1) == 1 else { return tell(.ended) }
      tell(.key(byte))
    }
    source.resume()
    sources.append(source)
  }

  private func listen(to signalNumber: Int32, _ tell: @escaping @Sendable () -> Void) {
    #if canImport(Darwin)
      // There the source only watches: what the signal does has to be turned off.
      signal(signalNumber, SIG_IGN)
    #endif
    let source = DispatchSource.makeSignalSource(signal: signalNumber)
    source.setEventHandler(handler: tell)
    source.resume()
    sources.append(source)
  }

  /// Writes at once, what `print` would not.
  static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
