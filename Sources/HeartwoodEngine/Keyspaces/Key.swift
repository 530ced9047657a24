/// An encoded key of one or more components.
///
/// ```swift
/// let key: Key = "config"               // a key of one string
/// let event = Key("nc", 73_275_410)     // sorts after ("nc", 5) and before ("nd")
/// ```
///
/// Keys sort component by component. Components of different kinds sort in this order: nil,
/// booleans, integers, floating-point numbers, dates, UUIDs, strings, byte strings. A key that is a
/// prefix of another key sorts before it. The bytes of a single-component key are exactly the
/// encoding of that component.
public struct Key: Hashable, Sendable {
  package let encoded: [UInt8]

  /// The encoded components, as bytes that sort in the same order as the keys.
  public var bytes: [UInt8] { encoded }

  /// Creates a key by encoding `components`.
  ///
  /// This initialiser does not check the length of the key. Methods of the store throw an error if
  /// a key is too long.
  public init<each Component: KeyConvertible>(_ components: repeat each Component) {
    var encoder = KeyEncoder()
    repeat (each components).encode(into: &encoder)
    encoded = encoder.bytes
  }

  /// Creates a key from encoded bytes.
  ///
  /// - Throws: ``StorageError/Kind/corrupt`` if `bytes` is not a valid encoding of components.
  public init(encoded bytes: [UInt8]) throws(StorageError) {
    _ = try Component.all(in: bytes)
    encoded = bytes
  }

  /// Creates a key from stored bytes that may not be a valid encoding.
  package init(unverified bytes: [UInt8]) {
    encoded = bytes
  }

  /// Decodes the components of the encoded key in `bytes`.
  ///
  /// The method throws an error if the number of components or their kinds do not match `types`.
  public static func decode<each Component: KeyConvertible>(
    _ bytes: RawSpan, as types: repeat (each Component).Type
  ) throws(StorageError) -> (repeat each Component) {
    try bytes.withBytes { bytes throws(StorageError) in
      var decoder = KeyDecoder(bytes)
      let components = (repeat try (each Component).decode(from: &decoder))
      try decoder.finish()
      return components
    }
  }
}

extension Key {
  /// Feeds all bytes to the hasher in one call.
  public func hash(into hasher: inout Hasher) {
    encoded.withBytes { hasher.combine(bytes: $0.buffer) }
  }
}

extension Key: Comparable {
  /// Returns whether the bytes of `first` sort before the bytes of `second`.
  public static func < (first: Key, second: Key) -> Bool {
    first.encoded.withBytes { left in
      second.encoded.withBytes { right in left.compare(right) < 0 }
    }
  }
}

extension Key: ExpressibleByStringLiteral {
  /// Creates a key whose only component is a string.
  public init(stringLiteral value: String) {
    self.init(value)
  }
}

extension Key: ExpressibleByIntegerLiteral {
  /// Creates a key whose only component is an integer.
  public init(integerLiteral value: Int) {
    self.init(value)
  }
}

extension Key: CustomStringConvertible {
  /// The components in parentheses, such as `("nc", 73275410)`.
  ///
  /// If the bytes are not a valid encoding, they are shown in hexadecimal instead.
  public var description: String {
    guard let components = try? Component.all(in: encoded) else { return encoded.hexadecimal }
    return "(\(components.map(\.description).joined(separator: ", ")))"
  }
}

extension Key {
  /// A component of a key, for code that does not know the component's type in advance.
  package enum Component: CustomStringConvertible {
    case absent
    case boolean(Bool)
    case integer(Int64)
    case largeInteger(UInt64)
    case float(Double)
    case date(Double)
    case uuid(high: UInt64, low: UInt64)
    case string(String)
    case bytes([UInt8])

    package static func all(in bytes: [UInt8]) throws(StorageError) -> [Component] {
      try bytes.withBytes { bytes throws(StorageError) in
        var decoder = KeyDecoder(bytes)
        var components: [Component] = []
        while let kind = try decoder.nextKind() {
          components.append(try Component(of: kind, from: &decoder))
        }
        return components
      }
    }

    private init(of kind: KeyTag, from decoder: inout KeyDecoder) throws(StorageError) {
      switch kind {
      case .absent:
        _ = decoder.decodeNil()
        self = .absent
      case .no, .yes: self = .boolean(try decoder.decodeBool())
      case .integer: self = .integer(try decoder.decodeInteger())
      case .largeInteger: self = .largeInteger(try decoder.decodeInteger())
      case .float: self = .float(try decoder.decodeDouble())
      case .date: self = .date(try decoder.decodeDate())
      case .uuid:
        let uuid = try decoder.decodeUUID()
        self = .uuid(high: uuid.high, low: uuid.low)
      case .string: self = .string(try decoder.decodeString())
      case .bytes: self = .bytes(try decoder.decodeBytes())
      }
    }

    package var description: String {
      switch self {
      case .absent: "nil"
      case .boolean(let value): "\(value)"
      case .integer(let value): "\(value)"
      case .largeInteger(let value): "\(value)"
      case .float(let value): "\(value)"
      case .date(let seconds): "date \(seconds)"
      case .uuid(let high, let low): Self.groups(high, low)
      case .string(let value): value.debugDescription
      case .bytes(let value): value.hexadecimal
      }
    }

    /// Returns a UUID in its usual notation: groups of 8, 4, 4, 4 and 12 digits.
    private static func groups(_ high: UInt64, _ low: UInt64) -> String {
      let digits = Array(high.digits + low.digits)
      return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        .map { String(digits[$0]) }
        .joined(separator: "-")
    }
  }
}

extension UInt64 {
  /// The number as sixteen hexadecimal digits.
  fileprivate var digits: String {
    let digits = String(self, radix: 16, uppercase: true)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension [UInt8] {
  fileprivate var hexadecimal: String {
    reduce(into: "0x") { text, byte in
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
  }
}
