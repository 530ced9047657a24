/// The format of fields in comma-separated values, as in RFC 4180.
package enum CSVField {
  /// Returns the text of a field.
  ///
  /// For `nil`, the text is empty. An empty string, or a string that contains a separator, is
  /// enclosed in quotation marks.
  package static func text(_ value: String?) -> String {
    guard let value else { return "" }
    guard value.isEmpty || value.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else {
      return value
    }
    // Compare bytes, because a quotation mark and a following combining mark form one character.
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    for byte in value.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
  }
}
