/// The command-line arguments that have not yet been consumed.
struct Arguments {
  private var words: [String]

  init(_ words: some Sequence<String>) { self.words = Array(words) }

  /// Consumes an option that has no value, and returns whether the option was present.
  mutating func flag(_ name: String) -> Bool {
    let count = words.count
    words.removeAll { $0 == name }
    return words.count < count
  }

  /// Consumes an option with a value, given as `--name value` or `--name=value`.
  ///
  /// - Parameters:
  ///   - wanted: The expected form of the value, for error messages.
  ///   - read: A closure that parses the value, or returns `nil` if the value is invalid.
  /// - Returns: The value, or `nil` if the option is missing. If the option is repeated, the last
  ///   value is returned.
  mutating func value<V>(
    of name: String, _ wanted: String, _ read: (String) -> V?
  ) throws -> V? {
    var result: V?
    while let index = words.firstIndex(where: { $0 == name || $0.hasPrefix(name + "=") }) {
      let word = words.remove(at: index)
      let isJoined = word.count > name.count
      guard isJoined || index < words.count else {
        throw CommandError.usage("\(name) requires a value. Use \(wanted).")
      }
      let text = isJoined ? String(word.dropFirst(name.count + 1)) : words.remove(at: index)
      guard let value = read(text) else {
        throw CommandError.usage("\(name) \(text.visible) is not valid. Use \(wanted).")
      }
      result = value
    }
    return result
  }

  /// Consumes and returns the next argument that is not an option, or returns `nil` if there is
  /// none.
  ///
  /// A single `-` is not an option.
  mutating func operand() -> String? {
    guard let index = words.firstIndex(where: { $0 == "-" || !$0.hasPrefix("-") }) else {
      return nil
    }
    return words.remove(at: index)
  }

  /// Throws an error if any arguments have not been consumed.
  ///
  /// The error names the first such argument.
  func rejectRemaining(of command: String) throws {
    guard let word = words.first else { return }
    let reason =
      word.hasPrefix("-")
      ? "\(command) has no option \(word.visible)." : "Unexpected argument \(word.visible)."
    throw CommandError.usage("\(reason) Run 'quakes \(command) --help' for usage.")
  }
}
