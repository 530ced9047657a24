import HeartwoodEngine

/// The notation for keys, both in output and on the command line.
///
/// A component is `nil`, `true`, `1871`, `1.5`, `date 0.0`, a UUID, `"text"` or `0x00FF`. Several
/// components are separated by commas and enclosed in parentheses. Bytes that are not a valid
/// encoding are written as `raw 0x…`.
enum KeyNotation {
  // MARK: Output

  /// Returns an encoded key as text.
  static func text(of key: [UInt8]) -> String {
    guard let components = components(of: key) else { return "raw " + hexadecimal(key) }
    let texts = components.map(text)
    return texts.count == 1 ? texts[0] : "(" + texts.joined(separator: ", ") + ")"
  }

  /// Returns the components of an encoded key, or `nil` if the bytes are not a valid encoding.
  static func components(of key: [UInt8]) -> [Key.Component]? {
    try? Key.Component.all(in: key)
  }

  private static func text(_ component: Key.Component) -> String {
    if case .string(let string) = component { return QuotedText.quoted(string) }
    return component.description
  }

  /// Returns `0x`, followed by two hexadecimal digits for each byte.
  static func hexadecimal(_ bytes: [UInt8]) -> String { "0x" + digits(bytes) }

  /// Returns the bytes as text, with two hexadecimal digits for each byte.
  static func digits(_ bytes: [UInt8]) -> String {
    bytes.reduce(into: "") { text, byte in
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
  }

  // MARK: Input

  /// Parses a key from the command line.
  ///
  /// Text that matches no other notation is a string, so only strings that look like another
  /// notation need quotation marks.
  static func key(_ text: String) throws(ToolFailure) -> Key {
    if text.hasPrefix("raw 0x"), let bytes = bytes(text.dropFirst(4)) {
      return Key(unverified: bytes)
    }
    var encoder = KeyEncoder()
    let trimmed = withoutSpaces(text[...])
    if trimmed.hasPrefix("("), trimmed.hasSuffix(")") {
      for component in try split(trimmed.dropFirst().dropLast(), of: text) {
        try append(withoutSpaces(component), of: text, to: &encoder)
      }
    } else {
      try append(trimmed, of: text, to: &encoder)
    }
    return Key(unverified: encoder.bytes)
  }

  private static func withoutSpaces(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Splits a string at the commas outside quotation marks.
  private static func split(
    _ text: Substring, of key: String
  ) throws(ToolFailure) -> [Substring] {
    var components: [Substring] = []
    var start = text.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in text.indices {
      let letter = text[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted {
        if letter == "\\" { isEscaped = true }
        if letter == "\"" { isQuoted = false }
      } else if letter == "\"" {
        isQuoted = true
      } else if letter == "," {
        components.append(text[start..<index])
        start = text.index(after: index)
      }
    }
    guard !isQuoted else {
      throw .usage(
        "The key \(key) has an unmatched quotation mark. Add the missing quotation mark, or write "
          + "\\\" for a quotation mark within a string.")
    }
    return components + [text[start...]]
  }

  private static func append(
    _ component: Substring, of key: String, to encoder: inout KeyEncoder
  ) throws(ToolFailure) {
    switch component {
    case "":
      throw .usage(
        "The key \(key) has an empty component. Remove the component, or write \"\" for an empty "
          + "string.")
    case "nil": encoder.appendNil()
    case "true": encoder.append(true)
    case "false": encoder.append(false)
    default:
      if component.hasPrefix("\"") {
        guard component.count > 1, component.hasSuffix("\""),
          let string = QuotedText.unescaped(component.dropFirst().dropLast())
        else {
          throw .usage(
            "The key \(key) contains an unterminated string or an unknown escape sequence. End the "
              + "string with a quotation mark, and use only the escape sequences \\n, \\t, \\r, "
              + "\\\", \\\\ and \\u{…}.")
        }
        encoder.append(string)
      } else if let integer = Int64(component) {
        encoder.append(integer)
      } else if let integer = UInt64(component) {
        encoder.append(integer)
      } else if let seconds = component.hasPrefix("date ") ? Double(component.dropFirst(5)) : nil {
        encoder.append(date: seconds)
      } else if let bytes = bytes(component) {
        encoder.append(bytes)
      } else if let uuid = uuid(component) {
        encoder.append(uuid: uuid)
      } else if let number = Double(component) {
        encoder.append(number)
      } else {
        encoder.append(String(component))
      }
    }
  }

  private static func bytes(_ text: Substring) -> [UInt8]? {
    guard text.hasPrefix("0x"), text.utf8.count % 2 == 0 else { return nil }
    let digits = Array(text.dropFirst(2))
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard digits[index].isHexDigit, digits[index + 1].isHexDigit,
        let byte = UInt8(String(digits[index...index + 1]), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func uuid(_ text: Substring) -> (high: UInt64, low: UInt64)? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.count) == [8, 4, 4, 4, 12],
      groups.allSatisfy({ $0.allSatisfy(\.isHexDigit) }),
      let high = UInt64(groups[0] + groups[1] + groups[2], radix: 16),
      let low = UInt64(groups[3] + groups[4], radix: 16)
    else { return nil }
    return (high, low)
  }
}
