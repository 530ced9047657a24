/// The readable text form in which the files of golden stores are saved.
///
/// The first line contains the number of bytes. Each further line contains an offset of eight
/// hexadecimal digits, followed by the 16 bytes at this offset in groups of any size. Lines for 16
/// zero bytes are omitted.
enum HexText {
  private static let lineByteCount = 16

  /// Returns the text form of `bytes`.
  static func encode(_ bytes: [UInt8]) -> String {
    var lines = ["\(bytes.count) bytes"]
    for offset in stride(from: 0, to: bytes.count, by: lineByteCount) {
      let line = bytes[offset..<min(offset + lineByteCount, bytes.count)]
      if line.allSatisfy({ $0 == 0 }) { continue }
      lines.append(
        digits(UInt64(offset), 8) + ": "
          + line.map { digits(UInt64($0), 2) }.joined(separator: " "))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Parses the text form, or returns `nil` if the text does not have this form.
  static func decode(_ text: String) -> [UInt8]? {
    let lines = text.split(separator: "\n")
    guard let first = lines.first, first.hasSuffix(" bytes"), let count = Int(first.dropLast(6))
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    for line in lines.dropFirst() {
      let parts = line.split(separator: " ")
      guard var offset = Int(parts[0].dropLast(), radix: 16) else { return nil }
      var digits = parts.dropFirst().joined()[...]
      while !digits.isEmpty {
        guard offset < count, digits.count >= 2, let byte = UInt8(digits.prefix(2), radix: 16)
        else { return nil }
        bytes[offset] = byte
        offset += 1
        digits = digits.dropFirst(2)
      }
    }
    return bytes
  }

  private static func digits(_ number: UInt64, _ count: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(count - text.count, 0)) + text
  }
}
