/// Functions that measure text in terminal columns.
enum DisplayWidth {
  /// Returns the number of terminal columns that a string occupies.
  ///
  /// The string must not contain control characters.
  static func of(_ text: String) -> Int {
    // Handle ASCII text separately, because it is by far the most common and is fast to measure.
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.reduce(0) { $0 + of($1) }
  }

  /// Returns the number of columns that a character occupies: none for a lone combining mark, two
  /// for a wide character (Unicode Standard Annex 11) or an emoji, and one for any other character.
  private static func of(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if character.unicodeScalars.count > 1,
      character.unicodeScalars.contains(where: { $0.value == 0xFE0F || $0.value == 0x200D })
    {
      return 2
    }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: return isWide(first) ? 2 : 1
    }
  }

  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isEmojiPresentation { return true }
    return switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }

  /// Returns the string, truncated with an ellipsis if it is wider than the given number of
  /// columns.
  static func fitted(_ text: String, to width: Int) -> String {
    guard of(text) > width else { return text }
    var result = ""
    var used = 0
    for character in text {
      let next = of(character)
      guard used + next < width else { break }
      result.append(character)
      used += next
    }
    return result + "…"
  }
}
