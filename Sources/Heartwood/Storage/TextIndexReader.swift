/// A reader of a text index for the objects of one entity.
final class TextIndexReader {
  let keys: TextIndexKeys
  let fieldCount: Int
  private let keyspace: RowsKeyspace
  /// The most recently read entry of row lengths.
  ///
  /// Each entry contains the lengths, in words, of neighbouring rows.
  @exclusivity(unchecked) private var lengths: (number: Int64, bytes: [UInt8]) = (-1, [])

  init(_ keyspace: RowsKeyspace, entity number: Int, fieldCount: Int) {
    self.keyspace = keyspace
    self.fieldCount = fieldCount
    keys = TextIndexKeys(entity: number)
  }

  func totals() throws -> TextIndexTotals {
    try TextIndexTotals(keyspace.withValue(keys.totals) { $0.copy })
  }

  /// Returns the entry of a term.
  ///
  /// If no object contains the term, the count in the entry is 0.
  func term(_ term: [UInt8]) throws -> TextIndexTerm {
    try TextIndexTerm(keyspace.withValue(keys.term(term)) { $0.copy })
  }

  /// Calls `body` with each term that begins with a prefix, in ascending order, until `body`
  /// returns `false`.
  func forEachTerm(
    prefix: [UInt8], _ body: (_ term: [UInt8], _ entry: TextIndexTerm) throws -> Bool
  ) throws {
    let range = keys.terms(prefix: prefix)
    try keyspace.forEach(from: range.lower, upTo: range.upper) { key, value in
      try body(keys.term(ofKey: key.copy), TextIndexTerm(value.copy))
    }
  }

  /// Calls `body` with each term that is similar to a word, in ascending order.
  ///
  /// - Complexity: Reads all terms whose prefixes could begin a similar term. Of the terms with any
  ///   other prefix, reads at most two and seeks past the rest.
  func forEachTerm(
    similarTo test: inout TextSimilarity,
    _ body: (_ term: [UInt8], _ entry: TextIndexTerm) throws -> Void
  ) throws {
    let cursor = cursor()
    var isThere = try cursor.seek(keys.terms(prefix: []).lower)
    var skipped: [UInt8] = []
    while isThere, let term = try cursor.withEntry({ key, _ in try keys.term(at: key.copy) }) ?? nil
    {
      if !skipped.isEmpty, term.starts(with: skipped) {
        let next = keys.terms(prefix: skipped).upper
        skipped = []
        isThere = try next.map { try cursor.seek($0) } ?? false
        continue
      }
      switch test.compare(term) {
      case .similar: try body(term, TextIndexTerm(cursor.value))
      case .different: break
      case .differentBeginning(let byteCount): skipped = Array(term.prefix(byteCount))
      }
      isThere = try cursor.moveToNext()
    }
  }

  /// Returns the rows whose changes are not yet in the posting lists.
  func pending() throws -> [(row: Int64, change: PendingText)] {
    guard try totals().pendingCount > 0 else { return [] }
    var result: [(row: Int64, change: PendingText)] = []
    let range = keys.allPending
    try keyspace.forEach(from: range.lower, upTo: range.upper) { key, value in
      result.append((try key.lastKeyComponent(), try PendingText(value.copy)))
      return true
    }
    return result
  }

  func cursor() -> Cursor { keyspace.cursor() }

  /// Returns the number of words in the object with the given row, up to ``TextRanking/maxLength``.
  @inline(__always)
  func length(of row: Int64) throws -> Int {
    let number = row / TextIndexKeys.rowsPerLengths
    if number != lengths.number {
      lengths = (number, try keyspace.withValue(keys.lengths(of: row)) { $0.copy } ?? [])
    }
    let offset = 2 * Int(row % TextIndexKeys.rowsPerLengths)
    guard offset + 1 < lengths.bytes.count else { return 0 }
    return Int(lengths.bytes[offset]) | Int(lengths.bytes[offset + 1]) << 8
  }
}
