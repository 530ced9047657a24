/// A range of entries in an index or in a keyspace of edges.
///
/// A range may cover more entries than requested, but never fewer. A range always includes both
/// bounds. If keys are shortened, it also includes all entries whose keys cannot be distinguished
/// from those of the bounds.
struct EntryRange: Hashable {
  /// The lowest possible key in the range.
  let lower: Key
  /// The first key after the range, or `nil` if the range extends to the end of the keyspace.
  let upper: Key?

  private init(lower: Key, upper: Key?) {
    self.lower = lower
    self.upper = upper
  }

  /// A Boolean value that indicates whether the range covers only the requested entries.
  ///
  /// The value is `true` if the bounds are not shortened.
  var isExact: Bool {
    max(lower.bytes.count, upper?.bytes.count ?? 0) < EntryKey.prefixByteCount
  }

  /// Creates a range that contains the entries whose keys begin with the given values.
  init(_ values: [StoredValue]) {
    lower = Self.start(EntryKey.key(values))
    upper = values.isEmpty ? nil : Self.end(of: values)
  }

  /// Creates a range that contains the index entries with the given values.
  ///
  /// The values must include one for each of the index's attributes.
  init(_ values: [StoredValue], ofAllIn index: IndexDescription) {
    guard EntryKey.isShortened(values, isUnique: index.isUnique) else {
      self.init(values)
      return
    }
    let start = EntryKey.shortened(values)
    self.init(lower: Key(unverified: start), upper: Key.successor(of: start))
  }

  /// Creates a range that contains the entries whose keys begin with the given values and continue
  /// with a value from `first` to `last`.
  ///
  /// If `first` or `last` is `nil`, the range has no bound at that end. Entries that continue with
  /// `nil` are always excluded.
  init(_ values: [StoredValue], from first: StoredValue?, through last: StoredValue?) {
    // Append the byte `FF` to the key for `values` followed by `nil`. The result sorts after every
    // key that begins with these components, because no component begins with `FF`.
    let afterNil = { Key(unverified: EntryKey.key(values + [.null]).bytes + [.max]) }
    lower = Self.start(first.map { EntryKey.key(values + [$0]) } ?? afterNil())
    upper = last.map { Self.end(of: values + [$0]) } ?? EntryRange(values).upper
  }

  /// Creates a range that contains the entries whose keys begin with the given values and continue
  /// with a string that starts with `text`.
  init(_ values: [StoredValue], text: String) {
    lower = Self.start(EntryKey.key(values + [.string(text)]))
    upper = Key.successor(of: lower.bytes)
  }

  /// Returns the lowest key that an entry can have if its complete key begins with `key`.
  ///
  /// The key that is stored for the entry may be shortened.
  private static func start(_ key: Key) -> Key {
    guard key.bytes.count > EntryKey.prefixByteCount else { return key }
    return Key(unverified: Array(key.bytes.prefix(EntryKey.prefixByteCount)))
  }

  /// Returns the lowest key after all keys that begin with the given values, or `nil` if there is
  /// none.
  private static func end(of values: [StoredValue]) -> Key? {
    let upper = KeyRange(prefix: EntryKey.key(values)).upper
    guard let upper, upper.bytes.count > EntryKey.prefixByteCount else { return upper }
    return Key.successor(of: Array(upper.bytes.prefix(EntryKey.prefixByteCount)))
  }

  /// Returns the ranges in ascending order, with overlapping ranges merged.
  static func merged(_ ranges: [EntryRange]) -> [EntryRange] {
    var result: [EntryRange] = []
    for range in ranges.sorted(by: { $0.lower < $1.lower }) {
      guard let last = result.last, last.upper.map({ range.lower < $0 }) != false else {
        result.append(range)
        continue
      }
      let upper = last.upper.flatMap { first in range.upper.map { max(first, $0) } }
      result[result.count - 1] = EntryRange(lower: last.lower, upper: upper)
    }
    return result
  }
}
