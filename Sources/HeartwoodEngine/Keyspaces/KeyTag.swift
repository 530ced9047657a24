/// The byte that starts each key component and determines how components of different kinds sort.
///
/// The file format fixes the values. All values are less than `0xFF`, as the encoding of strings
/// and byte strings requires. The gaps leave room for future kinds.
package enum KeyTag: UInt8, CaseIterable, Sendable {
  /// The value nil.
  case absent = 0x08
  /// The boolean `false`.
  case no = 0x10
  /// The boolean `true`.
  case yes = 0x11
  /// An integer that fits in `Int64`.
  ///
  /// The tag is followed by eight bytes, most significant first, with the sign bit flipped.
  case integer = 0x20
  /// An integer above `Int64.max`, in eight bytes with the most significant byte first.
  case largeInteger = 0x21
  /// A floating-point number, in eight bytes as defined by `Double.keyBits`.
  case float = 0x28
  /// A point in time as seconds since 1970, in eight bytes as defined by `Double.keyBits`.
  case date = 0x30
  /// A UUID, in 16 bytes.
  case uuid = 0x38
  /// A string, whose UTF-8 bytes are escaped as described in ``KeyEncoder``.
  case string = 0x40
  /// A byte string, whose bytes are escaped as described in ``KeyEncoder``.
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
