/// A part of an index or of a list of edges: the entries from one key up to another.
///
/// It may hold more than what was asked for, never less: bounds belong to it, meant to or not.
struct EntryRange: Hashable {
  /// The first key there can be.
  let lower: Key
  /// The first key behind it; `nil` at the end of the keyspace.
  let upper: Key?

  /// The entries that begin with some values, whatever follows.
  init(_ values: [StoredValue]) {
    lower = EntryKey.key(values)
    upper = values.isEmpty ? nil : Self.end(of: values)
  }

  /// The entries that begin with some values, and go on with one from `first` to `last`, but `nil`.
  init(_ values: [StoredValue], from first: StoredValue?, through last: StoredValue?) {
    lower = first.map { EntryKey.key(values + [$0]) } ?? Self.end(of: values + [.null])
    upper = last.map { Self.end(of: values + [$0]) } ?? EntryRange(values).upper
  }

  /// The entries that begin with some values, and go on with a text that begins like this one.
  init(_ values: [StoredValue], text: String) {
    lower = EntryKey.key(values + [.string(text)])
    var bytes = lower.bytes
    while let last = bytes.popLast() {
      guard last < .max else { continue }
      bytes.append(last + 1)
      break
    }
    upper = Key(unverified: bytes)
  }

  /// The least key behind all that begin with some values.
  ///
  /// No part begins with `FF`. A text or bytes that others follow end with a zero byte, and a zero
  /// byte within is followed by `FF`.
  private static func end(of values: [StoredValue]) -> Key {
    var bytes = EntryKey.key(values).bytes
    switch values.last {
    case .string, .bytes: bytes += [0, .max]
    default: bytes.append(.max)
    }
    return Key(unverified: bytes)
  }

  /// Whether a store could have such keys; one that is too long is in none.
  var isWithinLimits: Bool {
    Self.isWithinLimits(lower) && upper.map { Self.isWithinLimits($0) } ?? true
  }

  /// Whether a store could have a key.
  static func isWithinLimits(_ key: Key) -> Bool { key.bytes.count < Limits.maxKeyByteCount }
}
