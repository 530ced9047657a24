import HeartwoodEngine

/// Functions that escape text from a store so that it is safe to print on a terminal.
enum QuotedText {
  /// Returns the text in quotation marks, with its invisible characters, quotation marks and
  /// backslashes escaped.
  static func quoted(_ text: String) -> String {
    "\"" + escaped(text, alsoQuotes: true) + "\""
  }

  /// Returns the text with its invisible characters escaped.
  ///
  /// Unlike ``quoted(_:)``, this method does not add quotation marks, and it does not escape
  /// quotation marks or backslashes.
  static func escaped(_ text: String) -> String { escaped(text, alsoQuotes: false) }

  private static func escaped(_ text: String, alsoQuotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case "\"" where alsoQuotes, "\\" where alsoQuotes:
        result += "\\"
        result.unicodeScalars.append(scalar)
      default:
        if VisibleText.isVisible(scalar) {
          result.unicodeScalars.append(scalar)
        } else {
          result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
      }
    }
    return result
  }

  /// Returns whether `text` should be shown as text rather than in hexadecimal.
  ///
  /// The result is `false` if `text` contains control characters other than line feed, tab and
  /// carriage return.
  static func isReadable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      scalar == "\n" || scalar == "\t" || scalar == "\r"
        || scalar.properties.generalCategory != .control
    }
  }

  /// Returns `text` with each escape sequence replaced by the character that it represents, or
  /// `nil` if an escape sequence is invalid.
  ///
  /// `text` must not include the enclosing quotation marks.
  static func unescaped(_ text: Substring) -> String? {
    var result = ""
    var rest = text.unicodeScalars
    while let scalar = rest.popFirst() {
      guard scalar == "\\" else {
        result.unicodeScalars.append(scalar)
        continue
      }
      switch rest.popFirst() {
      case "n": result += "\n"
      case "t": result += "\t"
      case "r": result += "\r"
      case "\"": result += "\""
      case "\\": result += "\\"
      case "u":
        guard rest.popFirst() == "{", let end = rest.firstIndex(of: "}"),
          let value = UInt32(String(rest[..<end]), radix: 16), let scalar = Unicode.Scalar(value)
        else { return nil }
        result.unicodeScalars.append(scalar)
        rest = rest[rest.index(after: end)...]
      default: return nil
      }
    }
    return result
  }
}
