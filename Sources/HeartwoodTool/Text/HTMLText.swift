/// Functions that escape text from a store for use in HTML and SVG.
enum HTMLText {
  /// Escapes a string for use as an element's content or in a quoted attribute, and replaces
  /// invisible characters with visible codes.
  static func visible(_ text: String) -> String { escaped(QuotedText.escaped(text)) }

  /// Returns the text with markup characters escaped.
  ///
  /// The method examines Unicode scalars, because a markup character and a combining mark that
  /// follows it form a single `Character`.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
