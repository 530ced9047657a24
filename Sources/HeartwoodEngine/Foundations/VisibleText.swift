/// Names from elsewhere, in a form that cannot disturb a terminal.
package enum VisibleText {
  /// The text with U+FFFD in the place of what has no shape, moves the cursor or changes the
  /// direction of text.
  package static func of(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      result.unicodeScalars.append(isVisible(scalar) ? scalar : "\u{FFFD}")
    }
    return result
  }

  /// Whether a character has a shape, and leaves the cursor and the direction of text alone.
  package static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
      .unassigned:
      false
    default: true
    }
  }
}
