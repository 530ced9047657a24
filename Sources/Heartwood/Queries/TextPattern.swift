import Foundation

/// A constant string that a condition searches for in other strings.
///
/// Most strings are compared in place as UTF-8 bytes, without creating a `String`. The result is
/// the same as for a character-by-character comparison.
struct TextPattern {
  private let test: StringOperator
  private let options: StringDifferences
  /// The text to find, folded as the options require.
  private let text: String
  private let bytes: [UInt8]
  /// A Boolean value that indicates whether the text is ASCII and contains neither CR nor LF.
  ///
  /// Together, CR and LF form one character.
  private let isPlain: Bool
  /// A Boolean value that indicates whether the text contains an ASCII character that is
  /// canonically equivalent to a character outside ASCII.
  ///
  /// Three characters have such an equivalent: `K` (KELVIN SIGN), `;` (GREEK QUESTION MARK) and the
  /// grave accent (GREEK VARIA).
  private let hasEquivalents: Bool
  /// The position, within the text, of the byte to search for first.
  ///
  /// This is probably the rarest byte of the text.
  private let anchor: Int

  /// The most frequent bytes in typical text, in descending order of frequency.
  private static let frequentBytes = Array(" etaoinshrdlcumwfgypbvk,.xjqz".utf8)

  init(_ text: String, _ test: StringOperator, _ options: StringDifferences) {
    self.test = test
    self.options = options
    self.text = text.folded(options)
    bytes = Array(self.text.utf8)
    isPlain = bytes.allSatisfy { $0 < 0x80 && $0 != 0x0A && $0 != 0x0D }
    hasEquivalents = bytes.contains { [0x3B, 0x4B, 0x60].contains($0) }
    let ranks = bytes.map { Self.frequentBytes.firstIndex(of: $0) ?? Self.frequentBytes.count }
    anchor = ranks.indices.max { ranks[$0] < ranks[$1] } ?? 0
  }

  /// Returns whether a string matches the pattern.
  func matches(_ other: String) -> Bool {
    var other = other
    let result = other.withUTF8 { matches(utf8: UnsafeRawBufferPointer($0)) }
    return result ?? test.holds(other.folded(options), text)
  }

  /// Returns whether a string with the given UTF-8 bytes matches the pattern, or `nil` if the bytes
  /// alone do not determine the result.
  func matches(utf8 content: UnsafeRawBufferPointer) -> Bool? {
    guard isPlain else { return nil }
    if options.isEmpty, case .contains = test {
      let isFound = isIn(content)
      // If the string is not ASCII, bytes that were found may be part of a longer character, and
      // text that was not found may be present as equivalent characters.
      if isFound || hasEquivalents { return content.isASCII ? isFound : nil }
      return false
    }
    guard content.isASCII else { return nil }
    let last = content.count - bytes.count
    switch test {
    case .begins: return last >= 0 && isText(content, at: 0)
    case .ends: return last >= 0 && isText(content, at: last)
    case .contains: return last >= 0 && (0...last).contains { isText(content, at: $0) }
    // These tests interpret the text as a pattern, so its bytes cannot be compared directly.
    case .like, .matches, .containsMatch: return nil
    }
  }

  /// Returns whether the text appears at an offset in ASCII bytes, ignoring case if required.
  private func isText(_ content: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    let ignoresCase = options.contains(.case)
    for index in bytes.indices {
      var byte = content[offset + index]
      if ignoresCase, byte >= 0x41, byte <= 0x5A { byte |= 0x20 }
      if byte != bytes[index] { return false }
    }
    return true
  }

  /// Returns whether the text appears anywhere in the bytes.
  private func isIn(_ content: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty else { return true }
    // Use the C library's `memchr`, which uses vector instructions even in a debug build.
    var start = anchor
    let end = content.count - (bytes.count - 1 - anchor)
    while start < end, let base = content.baseAddress,
      let found = memchr(base + start, Int32(bytes[anchor]), end - start)
    {
      let position = UnsafeRawPointer(found) - base
      if memcmp(base + (position - anchor), bytes, bytes.count) == 0 { return true }
      start = position + 1
    }
    return false
  }
}
