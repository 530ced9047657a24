/// A reader for records of comma-separated values, as in RFC 4180.
package struct CSVRecords {
  /// A closure that returns the next bytes of the text, or an empty array at the end of the text.
  private let read: () throws -> [UInt8]
  private var chunk: [UInt8] = []
  private var position = 0
  private var isStarted = false

  /// The maximum size of a field, in bytes.
  private let maxFieldByteCount: Int

  package init(maxFieldByteCount: Int = 256 << 20, _ read: @escaping () throws -> [UInt8]) {
    self.maxFieldByteCount = maxFieldByteCount
    self.read = read
  }

  /// Returns the fields of the next record, or `nil` if there are no more records.
  ///
  /// An empty field without quotes is `nil`.
  ///
  /// - Throws: `invalidElement` if the text ends within quotes or is not UTF-8.
  package mutating func next() throws -> [String?]? {
    if !isStarted {
      isStarted = true
      try skipByteOrderMark()
    }
    guard try peek() != nil else { return nil }
    var fields = [try field()]
    while true {
      switch try take() {
      case UInt8(ascii: ","): fields.append(try field())
      case UInt8(ascii: "\r"):
        if try peek() == UInt8(ascii: "\n") { position += 1 }
        return fields
      case nil, UInt8(ascii: "\n"): return fields
      default:
        throw Self.invalid(
          "A field contains text after its closing quotation mark.")
      }
    }
  }

  private mutating func skipByteOrderMark() throws {
    var skipped: [UInt8] = []
    for byte in [0xEF, 0xBB, 0xBF] as [UInt8] {
      guard try peek() == byte else {
        // Put the skipped bytes back, because they are not a byte order mark but the beginning of a
        // character.
        chunk = skipped + chunk[position...]
        position = 0
        return
      }
      skipped.append(byte)
      position += 1
    }
  }

  private mutating func field() throws -> String? {
    var bytes: [UInt8] = []
    let isQuoted = try peek() == UInt8(ascii: "\"")
    if isQuoted {
      position += 1
      while true {
        guard let byte = try take() else {
          throw Self.invalid(
            "A field has no closing quotation mark.")
        }
        if byte == UInt8(ascii: "\"") {
          guard try peek() == byte else { break }
          position += 1
        }
        try append(byte, to: &bytes)
      }
    } else {
      while let byte = try peek(), byte != UInt8(ascii: ","), byte != UInt8(ascii: "\n"),
        byte != UInt8(ascii: "\r")
      {
        try append(byte, to: &bytes)
        position += 1
      }
      if bytes.isEmpty { return nil }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Self.invalid("A field is not valid UTF-8.")
    }
    return text
  }

  private func append(_ byte: UInt8, to bytes: inout [UInt8]) throws {
    guard bytes.count < maxFieldByteCount else {
      throw Self.invalid("A field is longer than \(maxFieldByteCount) bytes.")
    }
    bytes.append(byte)
  }

  private static func invalid(_ message: String) -> ObjectGraphError {
    ObjectGraphError(.invalidElement, "\(message) Correct the CSV, and try again.")
  }

  private mutating func peek() throws -> UInt8? {
    if position == chunk.count {
      chunk = try read()
      position = 0
    }
    return position < chunk.count ? chunk[position] : nil
  }

  private mutating func take() throws -> UInt8? {
    let byte = try peek()
    if byte != nil { position += 1 }
    return byte
  }
}
