/// A keyspace to read: as a snapshot shows it, or as a transaction has made it so far.
enum RowsKeyspace {
  case snapshot(KeyspaceReader)
  case transaction(KeyspaceWriter)

  /// The number of keys.
  func count() throws -> Int {
    switch self {
    case .snapshot(let reader): try reader.count()
    case .transaction(let writer): try writer.count()
    }
  }

  /// Calls `body` with the value of a row; `nil` if there is none.
  func withValue<R>(_ row: Int64, _ body: (RawSpan) throws -> R) throws -> R? {
    switch self {
    case .snapshot(let reader): try reader.withValue(row, body)
    case .transaction(let writer): try writer.withValue(row, body)
    }
  }

  /// Calls `body` with the value of a key; `nil` if there is none.
  func withValue<R>(_ key: Key, _ body: (RawSpan) throws -> R) throws -> R? {
    switch self {
    case .snapshot(let reader): try reader.withValue(key, body)
    case .transaction(let writer): try writer.withValue(key, body)
    }
  }

  /// Calls `body` for every entry of a range of keys, in order or backwards, until it returns
  /// false.
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

  /// Calls `body` with the value of each of some rows, in their order; `nil` for one that is not
  /// there.
  func forEach(
    of rows: [Int64], _ body: (_ position: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    switch self {
    case .snapshot(let reader): try reader.getMany(rows, body)
    case .transaction(let writer): try writer.getMany(rows, body)
    }
  }

  /// About how many entries a range has.
  func estimatedCount(_ range: EntryRange) throws -> Int {
    switch self {
    case .snapshot(let reader):
      try reader.estimatedCount(from: range.lower, upTo: range.upper)
    case .transaction(let writer):
      try writer.estimatedCount(from: range.lower, upTo: range.upper)
    }
  }
}
