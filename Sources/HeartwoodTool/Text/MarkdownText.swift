/// Functions that escape text for use in Markdown tables.
enum MarkdownText {
  /// Returns the text of a cell, escaping characters that would end the cell or act as markup.
  static func cell(_ text: String) -> String {
    // Examine scalars, because a markup character and a combining scalar after it form a single
    // character.
    var result = String.UnicodeScalarView()
    for scalar in QuotedText.escaped(text).unicodeScalars {
      if "|\\`*_<>[]".unicodeScalars.contains(scalar) { result.append("\\") }
      result.append(scalar)
    }
    return String(result)
  }
}
