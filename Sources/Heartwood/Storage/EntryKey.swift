/// The keys of indexes and edges.
///
/// The key of an index entry consists of the values, followed by the object number if the index is
/// not unique. In a unique index the object number is the value of the entry. An edge consists of
/// the numbers of the owner and the member. In an ordered relationship the position replaces the
/// second number, and the member's number is the value of the entry.
///
/// A key that would exceed the maximum length of a key is shortened:
///
/// ```
/// ┌──────────────────────────────┬──────────┬───────────┬──────────┐
/// │ prefix of the values         │ zeros 18 │ hash 8    │ number 9 │
/// └──────────────────────────────┴──────────┴───────────┴──────────┘
/// ```
///
/// The hash covers all bytes of the values. No complete key contains that many zeros in this
/// position: a component of fixed length has at most 16, and no component begins with a zero byte.
/// So complete and shortened keys never collide, and a shortened key sorts by the prefix of the
/// values that it contains.
enum EntryKey {
  /// The number of bytes of the values in a shortened key.
  static let prefixByteCount = Limits.maxKeyByteCount - separatorByteCount - 17
  private static let separatorByteCount = 18

  /// Returns the key of these values, in order; it may exceed the maximum length of a key.
  static func key(_ values: [StoredValue]) -> Key {
    Key(Components(values: values))
  }

  /// Returns the key of an index entry.
  static func entry(_ values: [StoredValue], _ number: ObjectNumber, isUnique: Bool) -> Key {
    let complete = key(isUnique ? values : values + [.integer(number.bits)])
    guard complete.bytes.count > Limits.maxKeyByteCount else { return complete }
    return Key(unverified: shortened(values) + key([.integer(number.bits)]).bytes)
  }

  /// Returns whether an index has a shortened key for these values.
  static func isShortened(_ values: [StoredValue], isUnique: Bool) -> Bool {
    key(isUnique ? values : values + [.integer(0)]).bytes.count > Limits.maxKeyByteCount
  }

  /// Returns the prefix of the shortened keys of these values: everything but the number.
  static func shortened(_ values: [StoredValue]) -> [UInt8] {
    let bytes = key(values).bytes
    var hash = XXH64()
    bytes.withBytes { hash.update($0) }
    var result = Array(bytes.prefix(prefixByteCount))
    result += repeatElement(0, count: separatorByteCount)
    // Most significant byte first.
    result.append(littleEndian: hash.finish().byteSwapped)
    return result
  }

  /// Several values, encoded as one component of a key.
  private struct Components: KeyConvertible {
    let values: [StoredValue]

    func encode(into encoder: inout KeyEncoder) {
      for value in values { value.encode(into: &encoder) }
    }

    static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Components {
      throw StorageError(.invalidArgument, "Index entries cannot be decoded into their values.")
    }
  }

  /// Returns the object number of an entry: its value, or the last component of its key.
  static func number(_ key: RawSpan, _ value: RawSpan) throws -> ObjectNumber {
    ObjectNumber(bits: value.byteCount > 0 ? try value.number() : try key.lastKeyComponent())
  }

  /// Returns an object number as the value of an entry.
  static func value(_ number: ObjectNumber) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number.bits)
    return bytes
  }
}

extension StoredValue {
  /// Encodes the value as a component of a key, in an order-preserving form.
  fileprivate func encode(into encoder: inout KeyEncoder) {
    switch self {
    case .null: encoder.appendNil()
    case .bool(let value): encoder.append(value)
    case .integer(let value): encoder.append(value)
    case .largeInteger(let value): encoder.append(value)
    case .double(bits: let bits): encoder.append(Double(bitPattern: bits))
    // The reference date is 2001, as in the stored value: a conversion to another one would round.
    case .date(bits: let bits): encoder.append(Double(bitPattern: bits))
    case .uuid(let high, let low): encoder.append(uuid: (high, low))
    case .string(let text): encoder.append(text.composed)
    case .bytes(let bytes): encoder.append(bytes)
    }
  }
}
