/// A value or its beginning, as it is shown.
struct ShownValue {
  /// The length of the complete value in bytes.
  let byteCount: Int
  /// Its first bytes, or all.
  let bytes: [UInt8]

  /// Whether the value is cut.
  var isCut: Bool { bytes.count < byteCount }

  /// The bytes as text if they are readable UTF-8; a character that the cut splits is left out.
  var readableText: String? {
    var end = bytes.count
    if isCut {
      // A character has at most three bytes after its first.
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

  /// Returns the value in quotation marks or in hexadecimal, cut to this number of columns;
  /// complete if `nil`.
  func text(width: Int?) -> String {
    let text = readableText.map(QuotedText.quoted) ?? KeyNotation.hexadecimal(bytes)
    guard let width, isCut || text.count > width else { return text }
    return text.prefix(width - 1) + "…"
  }
}
