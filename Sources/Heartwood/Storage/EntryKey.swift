/// The encoding of the keys of index entries and edges.
///
/// The key of an index entry consists of the indexed values. If the index is not unique, the object
/// number follows the values. In a unique index, the object number is the value of the entry.
///
/// An edge connects an object (the owner) with a member of one of its to-many relationships. The
/// key of an edge consists of the numbers of the owner and the member. In an ordered relationship,
/// the key contains the member's position instead, and the value of the entry is the member's
/// number.
///
/// A key that would exceed the maximum key length is shortened:
///
/// ```
/// ┌──────────────────────────────┬──────────┬───────────┬──────────┐
/// │ prefix of the values         │ zeros 18 │ hash 8    │ number 9 │
/// └──────────────────────────────┴──────────┴───────────┴──────────┘
/// ```
///
/// The hash covers all bytes of the encoded values. No complete key contains 18 consecutive zeros
/// at this offset, because a fixed-length component contains at most 16 of them, and no component
/// begins with a zero byte. Therefore, complete and shortened keys never collide. Shortened keys
/// are sorted by the prefix that they contain.
enum EntryKey {
  /// The number of bytes of the encoded values that are retained in a shortened key.
  static let prefixByteCount = Limits.maxKeyByteCount - separatorByteCount - 17
  private static let separatorByteCount = 18

  /// Returns the key that consists of the given values, in order.
  ///
  /// The key may exceed the maximum key length.
  static func key(_ values: some Sequence<StoredValue>) -> Key {
    // Use the encoder directly, because `Key.init` is generic over the key's components and
    // therefore slower.
    var encoder = KeyEncoder()
    for value in values { value.encode(into: &encoder) }
    return Key(unverified: encoder.bytes)
  }

  /// Returns the key of an index entry.
  static func entry(
    _ values: some Sequence<StoredValue>, _ number: ObjectNumber, isUnique: Bool
  ) -> Key {
    var encoder = KeyEncoder()
    for value in values { value.encode(into: &encoder) }
    if !isUnique { encoder.append(number.bits) }
    guard encoder.bytes.count > Limits.maxKeyByteCount else {
      return Key(unverified: encoder.bytes)
    }
    return Key(unverified: shortened(values) + key([.integer(number.bits)]).bytes)
  }

  /// Returns whether an index must shorten the key for the given values.
  static func isShortened(_ values: [StoredValue], isUnique: Bool) -> Bool {
    key(isUnique ? values : values + [.integer(0)]).bytes.count > Limits.maxKeyByteCount
  }

  /// Returns the shortened key for the given values, without the object number.
  static func shortened(_ values: some Sequence<StoredValue>) -> [UInt8] {
    let bytes = key(values).bytes
    var hash = XXH64()
    bytes.withBytes { hash.update($0) }
    var result = Array(bytes.prefix(prefixByteCount))
    result += repeatElement(0, count: separatorByteCount)
    // Swap the bytes, because the file format requires the hash in big-endian order.
    result.append(littleEndian: hash.finish().byteSwapped)
    return result
  }

  /// Returns the object number of an entry.
  ///
  /// The number is stored in the value of the entry. If the value is empty, the number is the last
  /// component of the key.
  static func number(_ key: RawSpan, _ value: RawSpan) throws -> ObjectNumber {
    ObjectNumber(bits: value.byteCount > 0 ? try value.number() : try key.lastKeyComponent())
  }

  /// Encodes an object number as the value of an entry.
  static func value(_ number: ObjectNumber) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number.bits)
    return bytes
  }
}

extension StoredValue {
  /// Encodes the value as a component of a key, so that keys sort in the order of the values.
  fileprivate func encode(into encoder: inout KeyEncoder) {
    switch self {
    case .null: encoder.appendNil()
    case .bool(let value): encoder.append(value)
    case .integer(let value): encoder.append(value)
    case .largeInteger(let value): encoder.append(value)
    case .double(bits: let bits): encoder.append(Double(bitPattern: bits))
    // Keep the reference date of the stored value, which is the start of 2001, because converting
    // to another reference date would round the number.
    case .date(bits: let bits): encoder.append(Double(bitPattern: bits))
    case .uuid(let high, let low): encoder.append(uuid: (high, low))
    case .string(let text): encoder.append(text.composed)
    case .bytes(let bytes): encoder.append(bytes)
    }
  }
}
