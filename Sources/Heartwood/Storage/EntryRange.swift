/// A part of an index or of a list of edges: the entries from one key up to another.
///
/// It may hold more than what was asked for, never less: bounds belong to it, meant to or not, and
/// so does what an index with shortened keys cannot tell apart.
struct EntryRange: Hashable {
  /// The first key there can be.
  let lower: Key
  /// The first key behind it; `nil` at the end of the keyspace.
  let upper: Key?

  private init(lower: Key, upper: Key?) {
    self.lower = lower
    self.upper = upper
  }

  /// The entries that begin with some values, whatever follows.
  init(_ values: [StoredValue]) {
    lower = Self.start(EntryKey.key(values))
    upper = values.isEmpty ? nil : Self.end(of: values)
  }

  /// The entries of an index that have these values of all its attributes.
  init(_ values: [StoredValue], ofAllIn index: IndexDescription) {
    guard EntryKey.isShortened(values, isUnique: index.isUnique) else {
      self.init(values)
      return
    }
    let start = EntryKey.shortened(values)
    self.init(lower: Key(unverified: start), upper: Key.successor(of: start))
  }

  /// The entries that begin with some values, and go on with one from `first` to `last`, but `nil`.
  init(_ values: [StoredValue], from first: StoredValue?, through last: StoredValue?) {
    // Behind `nil`, of which no part that follows begins with `FF`.
    let behind = { Key(unverified: EntryKey.key(values + [.null]).bytes + [.max]) }
    lower = Self.start(first.map { EntryKey.key(values + [$0]) } ?? behind())
    upper = last.map { Self.end(of: values + [$0]) } ?? EntryRange(values).upper
  }

  /// The entries that begin with some values, and go on with a text that begins like this one.
  init(_ values: [StoredValue], text: String) {
    lower = Self.start(EntryKey.key(values + [.string(text)]))
    upper = Key.successor(of: lower.bytes)
  }

  /// The least key of an entry with values whose key is this one, or that begin like them.
  private static func start(_ key: Key) -> Key {
    guard key.bytes.count > EntryKey.prefixByteCount else { return key }
    return Key(unverified: Array(key.bytes.prefix(EntryKey.prefixByteCount)))
  }

  /// The least key behind all that begin with some values.
  private static func end(of values: [StoredValue]) -> Key? {
    let bytes = KeyRange(prefix: EntryKey.key(values)).upper?.bytes ?? []
    guard bytes.count > EntryKey.prefixByteCount else { return Key(unverified: bytes) }
    return Key.successor(of: Array(bytes.prefix(EntryKey.prefixByteCount)))
  }

  /// The ranges in their order, those that overlap as one.
  static func merged(_ ranges: [EntryRange]) -> [EntryRange] {
    var result: [EntryRange] = []
    for range in ranges.sorted(by: { $0.lower < $1.lower }) {
      guard let last = result.last, last.upper.map({ range.lower < $0 }) ?? true else {
        result.append(range)
        continue
      }
      let upper = last.upper.flatMap { first in range.upper.map { max(first, $0) } }
      result[result.count - 1] = EntryRange(lower: last.lower, upper: upper)
    }
    return result
  }
}
