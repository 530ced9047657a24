/// Functions that make strings from untrusted sources safe to print on a terminal.
package enum VisibleText {
  /// Returns `text` with U+FFFD in place of every character that is not visible.
  package static func of(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      result.unicodeScalars.append(isVisible(scalar) ? scalar : "\u{FFFD}")
    }
    return result
  }

  /// Returns whether a character is visible and affects neither the cursor nor the text direction.
  package static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
      .unassigned:
      false
    default: true
    }
  }
}
