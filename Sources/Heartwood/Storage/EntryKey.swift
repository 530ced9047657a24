import Foundation

/// The keys of indexes and edges.
///
/// An entry of an index has the values as its key, then the number of the object if several may
/// have the same. One of a unique index has the number as its value. An edge has the number of one
/// object and that of the other; in an ordered relationship the position comes between, and the
/// number is the value.
enum EntryKey {
  /// A key of these values, in order.
  static func key(_ values: [StoredValue]) -> Key {
    Key(Parts(values: values))
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

extension String {
  /// The text with its letters composed: texts that are equal are one key, and sort as the language
  /// has it.
  fileprivate var composed: String {
    // Nothing below U+0300 can be composed with anything, and its bytes are below CC.
    utf8.allSatisfy { $0 < 0xCC } ? self : precomposedStringWithCanonicalMapping
  }
}
