/// The first byte of every component of a key, which determines the order of kinds.
///
/// The file format fixes the values. All of them are less than `0xFF`, as the encoding of strings
/// and byte strings requires. The gaps leave room for future kinds.
package enum KeyTag: UInt8, CaseIterable, Sendable {
  /// The value nil; no bytes follow the tag.
  case absent = 0x08
  /// The boolean `false`; no bytes follow the tag.
  case no = 0x10
  /// The boolean `true`; no bytes follow the tag.
  case yes = 0x11
  /// An integer that fits in `Int64`: eight bytes, most significant first, the sign bit flipped.
  case integer = 0x20
  /// An integer above `Int64.max`: eight bytes, most significant first.
  case largeInteger = 0x21
  /// A floating-point number: eight bytes, as in `Double.keyBits`.
  case float = 0x28
  /// A point in time, in seconds since 1970: eight bytes, as in `Double.keyBits`.
  case date = 0x30
  /// A UUID: its 16 bytes.
  case uuid = 0x38
  /// A string: its UTF-8 bytes, escaped as ``KeyEncoder`` describes.
  case string = 0x40
  /// A byte string: its bytes, escaped as ``KeyEncoder`` describes.
  case bytes = 0x48

  package var kindName: String {
    switch self {
    case .absent: "nil"
    case .no, .yes: "a boolean"
    case .integer, .largeInteger: "an integer"
    case .float: "a floating-point number"
    case .date: "a date"
    case .uuid: "a UUID"
    case .string: "a string"
    case .bytes: "a byte string"
    }
  }
}
