/// A value to be displayed, which may be truncated.
struct ShownValue {
  /// The length of the complete value in bytes.
  let byteCount: Int
  /// The bytes of the value, or only the first bytes if the value is truncated.
  let bytes: [UInt8]

  /// A Boolean value that indicates whether the value is truncated.
  var isCut: Bool { bytes.count < byteCount }

  /// The bytes as text, or `nil` if they are not readable UTF-8.
  ///
  /// If the truncation splits a character, that character is omitted.
  var readableText: String? {
    var end = bytes.count
    if isCut {
      // Examine the last four bytes, because a scalar has at most three bytes after its first byte.
      let tail = bytes.suffix(4).reversed()
      let behind = tail.prefix { $0 & 0xC0 == 0x80 }.count
      if let first = tail.dropFirst(behind).first, first >= 0xC0 {
        let wanted = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1
        if behind < wanted { end -= behind + 1 }
      }
    }
    guard let text = String(validating: bytes[..<end], as: UTF8.self),
      QuotedText.isReadable(text)
    else { return nil }
    return text
  }

  /// Returns the value as quoted text if it is readable, and in hexadecimal otherwise.
  ///
  /// - Parameter width: The maximum number of columns, or `nil` for no limit. If there is a limit,
  ///   a result that does not show the complete value ends with an ellipsis.
  func text(width: Int?) -> String {
    let text = readableText.map(QuotedText.quoted) ?? KeyNotation.hexadecimal(bytes)
    guard let width, isCut || text.count > width else { return text }
    return text.prefix(width - 1) + "…"
  }
}
