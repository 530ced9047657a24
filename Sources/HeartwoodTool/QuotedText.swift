import HeartwoodEngine

/// Text from a store in a form that cannot disturb a terminal.
enum QuotedText {
  /// Returns the text in quotation marks, with its quotation marks and backslashes escaped as well.
  static func quoted(_ text: String) -> String {
    "\"" + escaped(text, alsoQuotes: true) + "\""
  }

  /// Returns the text with its invisible characters escaped; for names, for example.
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

  /// Returns whether the bytes of a value are better shown as text: without control characters
  /// other than line feed, tab and carriage return.
  static func isReadable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      scalar == "\n" || scalar == "\t" || scalar == "\r"
        || scalar.properties.generalCategory != .control
    }
  }

  /// Returns the text of an escaped string without its quotation marks; `nil` if it is invalid.
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
