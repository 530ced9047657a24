/// The keys of indexes and edges.
///
/// An entry of an index has the values as its key, then the number of the object if several may
/// have the same. One of a unique index has the number as its value. An edge has the number of one
/// object and that of the other; in an ordered relationship the position comes between, and the
/// number is the value.
///
/// An entry whose key would be longer than a key may be has a shortened one:
///
/// ```
/// ┌──────────────────────────────┬──────────┬───────────┬──────────┐
/// │ what the values begin with   │ zeros 18 │ hash 8    │ number 9 │
/// └──────────────────────────────┴──────────┴───────────┴──────────┘
/// ```
///
/// The hash is that of all bytes of the values. No complete key has the zeros there: 16 of them can
/// be in a part of a fixed length, and then no part begins with one. So complete and shortened keys
/// never collide, and each lies where its values belong, as far as those are in it.
enum EntryKey {
  /// How much of the values a shortened key has.
  static let prefixByteCount = Limits.maxKeyByteCount - markByteCount - 17
  private static let markByteCount = 18

  /// A key of these values, in order; it may be longer than a key of a store.
  static func key(_ values: [StoredValue]) -> Key {
    Key(Parts(values: values))
  }

  /// The key of an entry of an index.
  static func entry(_ values: [StoredValue], _ number: ObjectNumber, isUnique: Bool) -> Key {
    let complete = key(isUnique ? values : values + [.integer(number.bits)])
    guard complete.bytes.count > Limits.maxKeyByteCount else { return complete }
    return Key(unverified: shortened(values) + key([.integer(number.bits)]).bytes)
  }

  /// Whether an index has a shortened key for these values.
  static func isShortened(_ values: [StoredValue], isUnique: Bool) -> Bool {
    key(isUnique ? values : values + [.integer(0)]).bytes.count > Limits.maxKeyByteCount
  }

  /// What shortened keys of these values begin with: all but the number.
  static func shortened(_ values: [StoredValue]) -> [UInt8] {
    let bytes = key(values).bytes
    var hash = XXH64()
    bytes.withBytes { hash.update($0) }
    var result = Array(bytes.prefix(prefixByteCount))
    result += repeatElement(0, count: markByteCount)
    // Most significant byte first.
    result.append(littleEndian: hash.finish().byteSwapped)
    return result
  }

  /// Several values as one part of a key.
  private struct Parts: KeyConvertible {
    let values: [StoredValue]

    func encode(into encoder: inout KeyEncoder) {
      for value in values { value.encode(into: &encoder) }
    }

    static func decode(from decoder: inout KeyDecoder) throws(StorageError) -> Parts {
      throw StorageError(.invalidArgument, "Entries are not decoded by their parts.")
    }
  }

  /// The number an entry is of: its value, or the last part of its key.
  static func number(_ key: RawSpan, _ value: RawSpan) throws -> ObjectNumber {
    ObjectNumber(bits: value.byteCount > 0 ? try value.number() : try key.lastKeyPart())
  }

  /// A number as the value of an entry.
  static func value(_ number: ObjectNumber) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number.bits)
    return bytes
  }
}

extension StoredValue {
  /// Writes the value as a part of a key, so that keys sort like values.
  fileprivate func encode(into encoder: inout KeyEncoder) {
    switch self {
    case .null: encoder.appendNil()
    case .bool(let value): encoder.append(value)
    case .integer(let value): encoder.append(value)
    case .largeInteger(let value): encoder.append(value)
    case .number(let bits): encoder.append(Double(bitPattern: bits))
    // Since 2001, as it is stored: to count from another year would round it.
    case .date(let bits): encoder.append(Double(bitPattern: bits))
    case .uuid(let high, let low): encoder.append(uuid: (high, low))
    case .string(let text): encoder.append(text.composed)
    case .bytes(let bytes): encoder.append(bytes)
    }
  }
}
