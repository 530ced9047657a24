/// Text in Markdown tables.
enum MarkdownText {
  /// Returns the text of a cell, with the characters escaped that would end the cell or be markup.
  static func cell(_ text: String) -> String {
    var result = ""
    for character in QuotedText.escaped(text) {
      if "|\\`*_<>[]".contains(character) { result.append("\\") }
      result.append(character)
    }
    return result
  }
}
