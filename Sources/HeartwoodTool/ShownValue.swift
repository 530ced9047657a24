/// A value to be shown, or the beginning of a long value.
struct ShownValue {
  /// The length of the complete value in bytes.
  let byteCount: Int
  /// The first bytes of the value, or all its bytes.
  let bytes: [UInt8]

  /// Whether the value is truncated.
  var isCut: Bool { bytes.count < byteCount }

  /// The bytes as text, or `nil` if they are not readable UTF-8.
  ///
  /// A character that is split by truncation is omitted.
  var readableText: String? {
    var end = bytes.count
    if isCut {
      // A character has at most three bytes after its first byte.
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

  /// Returns the value in quotation marks or in hexadecimal, truncated to `width` columns unless
  /// `width` is `nil`.
  func text(width: Int?) -> String {
    let text = readableText.map(QuotedText.quoted) ?? KeyNotation.hexadecimal(bytes)
    guard let width, isCut || text.count > width else { return text }
    return text.prefix(width - 1) + "…"
  }
}
