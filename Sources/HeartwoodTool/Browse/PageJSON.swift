import Heartwood
import HeartwoodEngine

/// Functions that encode values as JSON that is safe inside a page's script element.
///
/// The JSON contains neither markup nor invisible characters, because both are escaped.
enum PageJSON {
  /// The maximum length, in bytes, of a string on a page.
  ///
  /// Longer strings are truncated.
  static let textByteLimit = 4096
  /// The maximum length, in bytes, of binary data on a page.
  ///
  /// Longer data is truncated.
  static let dataByteLimit = 256

  /// Returns a string encoded as JSON.
  static func string(_ text: String) -> String {
    var result = "\""
    append(text.unicodeScalars, to: &result)
    return result + "\""
  }

  /// Returns a JSON document with all unsafe characters escaped.
  ///
  /// Unsafe characters can occur only in the document's strings.
  static func safe(_ document: String) -> String {
    var result = ""
    for scalar in document.unicodeScalars {
      if isPlain(scalar) || scalar == "\"" || scalar == "\\" {
        result.unicodeScalars.append(scalar)
      } else {
        appendCode(of: scalar, to: &result)
      }
    }
    return result
  }

  /// Returns the value of a cell as JSON.
  ///
  /// - Numbers and booleans are unchanged, except that `nan`, `inf`, `-inf` and all numbers that
  ///   JavaScript would round become strings.
  /// - Decimal numbers, UUIDs, strings and JSON values become strings; binary data becomes a string
  ///   of hexadecimal digits. A value that is too long becomes an object that contains the
  ///   beginning of the string and the length of the value in bytes.
  /// - Dates become the number of seconds since the start of 2001.
  /// - A reference becomes the ID of the object. A to-many relationship becomes an array that
  ///   contains the number of members, followed by the IDs of the first members.
  static func cell(_ value: ObjectValue, memberCount: Int) -> String {
    switch value {
    case .null: return "null"
    case .object(let id): return string(id.shortText)
    case .objects(let ids):
      return "[" + (["\(memberCount)"] + ids.map { string($0.shortText) }).joined(separator: ",")
        + "]"
    case .value(.bool(let value), _): return "\(value)"
    case .value(.integer(let value), _):
      // Return only integers of up to 53 bits as numbers, because JavaScript cannot represent
      // larger integers exactly.
      return value.magnitude < 1 << 53 ? "\(value)" : "\"\(value)\""
    case .value(.largeInteger(let value), _): return "\"\(value)\""
    case .value(.double(bits: let bits), .float): return number(Float(Double(bitPattern: bits)))
    case .value(.double(bits: let bits), _), .value(.date(bits: let bits), _):
      return number(Double(bitPattern: bits))
    case .value(.bytes(let bytes), .bytes):
      let text = KeyNotation.hexadecimal(Array(bytes.prefix(dataByteLimit)))
      return bytes.count > dataByteLimit ? cut(string(text), bytes.count) : string(text)
    case .value: return self.text(value.text ?? "")
    }
  }

  private static func number(_ value: some BinaryFloatingPoint & CustomStringConvertible) -> String
  {
    value.isFinite ? "\(value)" : "\"\(value)\""
  }

  private static func text(_ text: String) -> String {
    let byteCount = text.utf8.count
    guard byteCount > textByteLimit else { return string(text) }
    // Truncate the text between scalars rather than characters, because a single character may be
    // arbitrarily long.
    var end = text.utf8.index(text.startIndex, offsetBy: textByteLimit)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return cut(string(String(text.unicodeScalars[..<end])), byteCount)
  }

  private static func cut(_ beginning: String, _ byteCount: Int) -> String {
    "{\"text\":\(beginning),\"bytes\":\(byteCount)}"
  }

  // MARK: Escaping

  private static func append(_ scalars: String.UnicodeScalarView, to result: inout String) {
    for scalar in scalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      default:
        if isPlain(scalar) {
          result.unicodeScalars.append(scalar)
        } else {
          appendCode(of: scalar, to: &result)
        }
      }
    }
  }

  /// Returns whether a character can appear in a string without being escaped.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\"", "\\", "<", ">", "&": false
    case " "..."~": true
    default: VisibleText.isVisible(scalar)
    }
  }

  private static func appendCode(of scalar: Unicode.Scalar, to result: inout String) {
    for unit in String(scalar).utf16 {
      let digits = String(unit, radix: 16, uppercase: true)
      result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }
}
