/// A keyspace that can be read in a snapshot or within a transaction.
enum RowsKeyspace {
  case snapshot(KeyspaceReader)
  case transaction(KeyspaceWriter)

  /// Returns the number of keys.
  func count() throws -> Int {
    switch self {
    case .snapshot(let reader): try reader.count()
    case .transaction(let writer): try writer.count()
    }
  }

  /// Calls `body` with the value of a row.
  ///
  /// - Returns: The result of `body`, or `nil` if the row does not exist.
  func withValue<R>(_ row: Int64, _ body: (RawSpan) throws -> R) throws -> R? {
    switch self {
    case .snapshot(let reader): try reader.withValue(row, body)
    case .transaction(let writer): try writer.withValue(row, body)
    }
  }

  /// Calls `body` with the value of a key.
  ///
  /// - Returns: The result of `body`, or `nil` if the key does not exist.
  func withValue<R>(_ key: Key, _ body: (RawSpan) throws -> R) throws -> R? {
    switch self {
    case .snapshot(let reader): try reader.withValue(key, body)
    case .transaction(let writer): try writer.withValue(key, body)
    }
  }

  /// Calls `body` for each entry in a range of keys, until `body` returns `false`.
  ///
  /// The entries are visited in ascending order of their keys, or in descending order if `reversed`
  /// is `true`.
  func forEach(
    from lower: Key? = nil, upTo upper: Key? = nil, reversed: Bool = false,
    _ body: (RawSpan, RawSpan) throws -> Bool
  ) throws {
    switch self {
    case .snapshot(let reader):
      try reader.forEach(from: lower, upTo: upper, reversed: reversed, body)
    case .transaction(let writer):
      try writer.forEach(from: lower, upTo: upper, reversed: reversed, body)
    }
  }

  /// Calls `body` with the position and the value of each row in `rows`, in order.
  ///
  /// The value is `nil` if the row does not exist.
  func forEach(
    of rows: [Int64], _ body: (_ position: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    switch self {
    case .snapshot(let reader): try reader.getMany(rows, body)
    case .transaction(let writer): try writer.getMany(rows, body)
    }
  }

  /// Returns a cursor over the entries.
  func cursor() -> Cursor {
    switch self {
    case .snapshot(let reader): reader.cursor()
    case .transaction(let writer): writer.cursor()
    }
  }

  /// Returns the number of entries in a range, or `limit` if there are more.
  ///
  /// - Precondition: `limit` is positive.
  func count(_ range: EntryRange, limit: Int = .max) throws -> Int {
    switch self {
    case .snapshot(let reader):
      return try reader.count(from: range.lower, upTo: range.upper, limit: limit)
    case .transaction(let writer):
      var count = 0
      try writer.forEach(from: range.lower, upTo: range.upper) { _, _ in
        count += 1
        return count < limit
      }
      return count
    }
  }

  /// Returns the approximate number of entries in a range.
  func estimatedCount(_ range: EntryRange) throws -> Int {
    switch self {
    case .snapshot(let reader):
      try reader.estimatedCount(from: range.lower, upTo: range.upper)
    case .transaction(let writer):
      try writer.estimatedCount(from: range.lower, upTo: range.upper)
    }
  }
}

extension RowsKeyspace {
  /// Returns the object that has the given values in a unique index, or `nil` if there is none.
  ///
  /// The method compares the values in the rows. Long index keys are truncated, so the keys of
  /// several entries may differ only in the object number even if the values differ.
  ///
  /// - Parameters:
  ///   - key: The encoded key of `values`, which is too long for the index.
  ///   - row: A closure that returns the values of a row, or `nil` if the row does not exist.
  func owner(
    _ index: IndexDescription, _ values: [StoredValue], _ key: Key,
    _ row: (ObjectNumber) throws -> [StoredValue]?
  ) throws -> ObjectNumber? {
    var numbers: [ObjectNumber] = []
    let range = EntryRange(values, ofAllIn: index)
    try forEach(from: range.lower, upTo: range.upper) { key, value in
      numbers.append(try EntryKey.number(key, value))
      return true
    }
    return try numbers.first { number in
      try row(number).map { row in EntryKey.key(index.slots.map { row[$0] }) == key } == true
    }
  }
}
