/// Functions that escape text for use in Markdown tables.
enum MarkdownText {
  /// Returns the text of a cell, escaping characters that would end the cell or act as markup.
  static func cell(_ text: String) -> String {
    // Process single scalars, because a markup character and a combining mark that follows it form
    // a single `Character`.
    var result = String.UnicodeScalarView()
    for scalar in QuotedText.escaped(text).unicodeScalars {
      if "|\\`*_<>[]".unicodeScalars.contains(scalar) { result.append("\\") }
      result.append(scalar)
    }
    return String(result)
  }
}
