/// A formatter for the fields of comma-separated values, as specified in RFC 4180.
package enum CSVField {
  /// Returns the text of the field that represents a string.
  ///
  /// The text is empty if the string is `nil`. If the string is empty, or contains a comma, a
  /// quotation mark or a line break, the text is enclosed in quotation marks.
  package static func text(_ value: String?) -> String {
    guard let value else { return "" }
    guard value.isEmpty || value.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else {
      return value
    }
    // Compare bytes rather than characters, because a quotation mark and a combining mark that
    // follows it form one character.
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    for byte in value.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
  }
}
