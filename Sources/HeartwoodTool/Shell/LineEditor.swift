import Foundation

/// A line editor for terminal input, with history and completion.
final class LineEditor {
  private var history: [String]
  private let completions: (String) -> [String]
  private var characters: [Character] = []
  /// The number of characters before the cursor.
  private var position = 0
  /// The index of the history line that is shown, or the length of the history if no history line
  /// is shown.
  private var shown = 0
  /// The line that the user was typing before the editor showed a line of the history.
  private var typed: [Character] = []
  private var prompt = ""

  /// Creates an editor with the given history.
  ///
  /// - Parameter completions: A closure that returns the possible completions of a line's last
  ///   word.
  init(history: [String], completions: @escaping (String) -> [String]) {
    self.history = history
    self.completions = completions
  }

  /// Returns the next line, or `nil` at the end of the input.
  func line(prompt: String) -> String? {
    self.prompt = prompt
    (characters, position, typed, shown) = ([], 0, [], history.count)
    let mode = TerminalMode.raw()
    defer { mode?.restore() }
    redraw()
    while let key = nextKey() {
      switch key {
      case .enter:
        write("\r\n")
        let line = String(characters)
        if !line.isEmpty, line != history.last { history.append(line) }
        return line
      case .endOfInput:
        guard !characters.isEmpty else {
          write("\r\n")
          return nil
        }
        deleteForward()
      case .interrupt:
        write("^C\r\n")
        (characters, position, shown) = ([], 0, history.count)
      default: edit(key)
      }
      redraw()
    }
    return nil
  }

  private func edit(_ key: Key) {
    switch key {
    case .character(let character):
      characters.insert(character, at: position)
      position += 1
    case .left: position = max(0, position - 1)
    case .right: position = min(characters.count, position + 1)
    case .home: position = 0
    case .end: position = characters.count
    case .up: show(shown - 1)
    case .down: show(shown + 1)
    case .backspace:
      guard position > 0 else { return }
      position -= 1
      characters.remove(at: position)
    case .delete: deleteForward()
    case .deleteToEnd: characters.removeSubrange(position...)
    case .deleteToStart:
      characters.removeSubrange(..<position)
      position = 0
    case .deleteWord:
      let start = characters[..<position].trimmedEnd.lastIndex(of: " ").map { $0 + 1 } ?? 0
      characters.removeSubrange(start..<position)
      position = start
    case .tab: complete()
    case .enter, .endOfInput, .interrupt, .unknown: break
    }
  }

  private func deleteForward() {
    if position < characters.count { characters.remove(at: position) }
  }

  private func show(_ index: Int) {
    guard (0...history.count).contains(index), index != shown else { return }
    if shown == history.count { typed = characters }
    shown = index
    characters = index == history.count ? typed : Array(history[index])
    position = characters.count
  }

  /// Completes the last word before the cursor, or lists the candidates if there are several.
  private func complete() {
    let before = String(characters[..<position])
    let all = completions(before)
    guard let first = all.first else { return write("\u{07}") }
    let common = all.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
    let separators = " '\"(,=<>.&|!"
    let word = before.reversed().prefix { !separators.contains($0) }.count
    let rest = Array(common.dropFirst(word)) + (all.count == 1 ? [" "] : [])
    guard rest.isEmpty else {
      characters.insert(contentsOf: rest, at: position)
      position += rest.count
      return
    }
    write("\r\n" + all.joined(separator: "  ") + "\r\n")
  }

  // MARK: Terminal

  private func redraw() {
    let text = QuotedText.escaped(String(characters))
    let ahead = DisplayWidth.of(prompt + QuotedText.escaped(String(characters[..<position])))
    write("\r\u{1B}[K\(prompt)\(text)\r" + (ahead > 0 ? "\u{1B}[\(ahead)C" : ""))
  }

  private func write(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
  }

  private enum Key {
    case character(Character)
    case enter, tab, left, right, up, down, home, end, backspace, delete, deleteToEnd
    case deleteToStart, deleteWord, endOfInput, interrupt, unknown
  }

  private func nextByte() -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = read(0, &byte, 1)
      if count == 1 { return byte }
      guard count < 0, errno == EINTR else { return nil }
    }
  }

  private func nextKey() -> Key? {
    guard let byte = nextByte() else { return nil }
    switch byte {
    case 0x0A, 0x0D: return .enter
    case 0x09: return .tab
    case 0x01: return .home
    case 0x02: return .left
    case 0x03: return .interrupt
    case 0x04: return .endOfInput
    case 0x05: return .end
    case 0x06: return .right
    case 0x08, 0x7F: return .backspace
    case 0x0B: return .deleteToEnd
    case 0x0E: return .down
    case 0x10: return .up
    case 0x15: return .deleteToStart
    case 0x17: return .deleteWord
    case 0x1B: return escape()
    case 0x00..<0x20: return .unknown
    default: return character(byte)
    }
  }

  private func character(_ first: UInt8) -> Key {
    let count = first < 0x80 ? 0 : first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1
    var bytes = [first]
    for _ in 0..<count { if let next = nextByte() { bytes.append(next) } }
    return String(validating: bytes, as: UTF8.self)?.first.map { .character($0) } ?? .unknown
  }

  private func escape() -> Key {
    guard let first = nextByte(), first == UInt8(ascii: "[") || first == UInt8(ascii: "O"),
      let second = nextByte()
    else { return .unknown }
    switch Character(UnicodeScalar(second)) {
    case "A": return .up
    case "B": return .down
    case "C": return .right
    case "D": return .left
    case "H": return .home
    case "F": return .end
    case "1", "7": return nextByte() == nil ? .unknown : .home
    case "4", "8": return nextByte() == nil ? .unknown : .end
    case "3": return nextByte() == nil ? .unknown : .delete
    default: return .unknown
    }
  }
}

extension ArraySlice<Character> {
  /// The characters without trailing spaces.
  fileprivate var trimmedEnd: ArraySlice {
    var result = self
    while result.last == " " { result.removeLast() }
    return result
  }
}

/// The settings of the terminal before the editor changed them.
private struct TerminalMode {
  private let settings: termios

  /// Puts the terminal into raw mode, in which the program receives each key immediately.
  ///
  /// - Returns: The terminal's previous settings, or `nil` if standard input is not a terminal.
  static func raw() -> TerminalMode? {
    var settings = termios()
    guard tcgetattr(0, &settings) == 0 else { return nil }
    let mode = TerminalMode(settings: settings)
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    settings.c_iflag &= ~tcflag_t(IXON | ICRNL)
    tcsetattr(0, TCSADRAIN, &settings)
    return mode
  }

  func restore() {
    var settings = settings
    tcsetattr(0, TCSADRAIN, &settings)
  }
}
