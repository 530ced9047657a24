/// The words of the command line that nobody has taken yet.
struct Arguments {
  private var words: [String]

  init(_ words: some Sequence<String>) { self.words = Array(words) }

  /// Takes an option without a value; whether it was there.
  mutating func flag(_ name: String) -> Bool {
    let count = words.count
    words.removeAll { $0 == name }
    return words.count < count
  }

  /// Takes an option with a value, typed as `--name value` or `--name=value`.
  ///
  /// - Returns: The value, of several the last one; `nil` if there is none.
  /// - Parameters:
  ///   - wanted: What to type, for the complaint about a value that makes no sense.
  ///   - read: Makes sense of the value; `nil` if there is none in it.
  mutating func value<V>(
    of name: String, _ wanted: String, _ read: (String) -> V?
  ) throws -> V? {
    var result: V?
    while let place = words.firstIndex(where: { $0 == name || $0.hasPrefix(name + "=") }) {
      let word = words.remove(at: place)
      let isJoined = word.count > name.count
      guard isJoined || place < words.count else {
        throw Complaint.usage("\(name) needs a value: type \(wanted).")
      }
      let text = isJoined ? String(word.dropFirst(name.count + 1)) : words.remove(at: place)
      guard let value = read(text) else {
        throw Complaint.usage("\(name) \(text.visible) makes no sense: type \(wanted).")
      }
      result = value
    }
    return result
  }

  /// Takes the next word that is no option; `-` is none.
  mutating func operand() -> String? {
    guard let place = words.firstIndex(where: { $0 == "-" || !$0.hasPrefix("-") }) else {
      return nil
    }
    return words.remove(at: place)
  }

  /// Complains of the first word that nobody has taken.
  func requireNothingLeft(of command: String) throws {
    guard let word = words.first else { return }
    let trouble =
      word.hasPrefix("-")
      ? "\(command) has no option \(word.visible)." : "\(word.visible) is one word too many."
    throw Complaint.usage("\(trouble) Type quakes \(command) --help to see what it takes.")
  }
}
