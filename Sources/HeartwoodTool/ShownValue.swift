/// A value, or its beginning, as far as it is shown.
struct ShownValue {
  /// Bytes of the whole value.
  let byteCount: Int
  /// Its first bytes, or all.
  let bytes: [UInt8]

  /// Whether the value goes on.
  var isCut: Bool { bytes.count < byteCount }

  /// The bytes as text if they are readable UTF-8; a letter the cut goes through is left out.
  var readableText: String? {
    var end = bytes.count
    if isCut {
      // A letter has at most three bytes behind its first.
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

  /// The value in quotation marks or in hexadecimal, cut to so many columns; whole without them.
  func text(width: Int?) -> String {
    let text = readableText.map(QuotedText.quoted) ?? KeyNotation.hexadecimal(bytes)
    guard let width, isCut || text.count > width else { return text }
    return text.prefix(width - 1) + "…"
  }
}
