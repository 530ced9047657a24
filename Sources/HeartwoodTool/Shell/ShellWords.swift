/// A parser that splits a line into words as a POSIX shell does, but without expansions.
enum ShellWords {
  /// Returns the words of a line.
  ///
  /// - Throws: ``ToolFailure`` if a quotation mark is not closed.
  static func split(_ line: String) throws(ToolFailure) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = Substring(line)
    while let character = rest.popFirst() {
      if let open = quote {
        if character == open {
          quote = nil
        } else if character == "\\", open == "\"", let next = rest.first, "\"\\".contains(next) {
          word?.append(rest.removeFirst())
        } else {
          word?.append(character)
        }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == "\\", let next = rest.popFirst() {
        word = word ?? ""
        word?.append(next)
      } else if character.isWhitespace {
        if let done = word { words.append(done) }
        word = nil
      } else {
        word = word ?? ""
        word?.append(character)
      }
    }
    guard quote == nil else {
      throw .usage("Missing closing quotation mark. Add \(quote ?? "'") at the end.")
    }
    return words + (word.map { [$0] } ?? [])
  }
}
