/// A cursor over the rows that match part of a text query, in ascending order.
///
/// The properties skip exclusivity checks, because cursors are used for every row. Skipping the
/// checks is safe, because each cursor is used by only one thread.
class TextCursor {
  /// The current row.
  ///
  /// The value is 0 before the first row, and ``end`` after the last row.
  @exclusivity(unchecked) final var row: Int64 = 0
  static let end = Int64.max

  /// Moves to the next row.
  func moveToNext() throws { row = Self.end }

  /// Moves forward to the first row that is not less than `target`.
  ///
  /// If the current row is not less than `target`, the cursor does not move.
  func seek(_ target: Int64) throws {
    while row < target { try moveToNext() }
  }
}

/// A cursor over the rows that contain certain terms, which also provides the terms' frequency in
/// each row.
class TextLeafCursor: TextCursor {
  /// The total weight of the terms' occurrences in the current row.
  @exclusivity(unchecked) final var frequency = 0

  /// Returns the positions at which the terms occur in the current row, in ascending order.
  func positions() throws -> [UInt32] { [] }
}

/// A cursor over the rows of one posting list.
final class TextWordCursor: TextLeafCursor {
  private let reader: TextIndexReader
  private let term: [UInt8]
  private let weights: [Int]
  private let fields: UInt64
  @exclusivity(unchecked) private var postings: TextPostings
  /// The cursor over the posting list's blocks, or `nil` if the list is stored with its term.
  private let blocks: Cursor?
  private let prefix: [UInt8]
  @exclusivity(unchecked) private var blockRow: Int64 = -1

  init(
    _ reader: TextIndexReader, _ term: [UInt8], _ entry: TextIndexTerm, weights: [Int],
    fields: UInt64
  ) {
    self.reader = reader
    self.term = term
    self.weights = weights
    self.fields = fields
    if entry.hasBlocks {
      blocks = reader.cursor()
      prefix = reader.keys.blockPrefix(term)
      postings = TextPostings([], fieldCount: reader.fieldCount)
    } else {
      blocks = nil
      prefix = []
      postings = TextPostings(entry.bytes, from: entry.listOffset, fieldCount: reader.fieldCount)
    }
  }

  /// Reads the block at the cursor's position.
  ///
  /// - Returns: `false` if the block belongs to another term; otherwise, `true`.
  private func readBlock(_ blocks: Cursor) throws -> Bool {
    var bytes: [UInt8] = []
    let found = try blocks.withEntry { key, value -> Int64? in
      guard let row = try key.blockRow(prefix) else { return nil }
      bytes = value.copy
      return row
    }
    guard case let row?? = found else { return false }
    guard row > blockRow else { throw TextPostings.damage }
    blockRow = row
    postings = TextPostings(bytes, fieldCount: reader.fieldCount)
    return true
  }

  private func moveToNextBlock() throws -> Bool {
    guard let blocks else { return false }
    let isThere =
      blockRow < 0
      ? try blocks.seek(reader.keys.block(term, row: 0)) : try blocks.moveToNext()
    return try isThere && readBlock(blocks)
  }

  override func moveToNext() throws { try moveToNext(from: row + 1) }

  /// Moves to the next posting whose row is not less than `target`.
  private func moveToNext(from target: Int64) throws {
    while true {
      while try postings.next() {
        if postings.row < target {
          try postings.skipContent()
        } else if let frequency = try postings.frequency(weights, fields) {
          self.frequency = frequency
          row = postings.row
          return
        }
      }
      guard try moveToNextBlock() else {
        row = Self.end
        return
      }
    }
  }

  override func seek(_ target: Int64) throws {
    guard row < target else { return }
    while try postings.next() {
      guard postings.row >= target else {
        try postings.skipContent()
        continue
      }
      guard let frequency = try postings.frequency(weights, fields) else { continue }
      self.frequency = frequency
      row = postings.row
      return
    }
    // The rest of the current block has been read without finding the row, so skip to the block
    // that can contain it.
    if let blocks, target < Self.end, target <= ObjectNumber.maxRow,
      try blocks.seek(before: reader.keys.block(term, row: target + 1)),
      case let row?? = try blocks.withEntry({ key, _ in try key.blockRow(prefix) }),
      row > blockRow
    {
      _ = try readBlock(blocks)
    }
    try moveToNext(from: target)
  }

  override func positions() throws -> [UInt32] { try postings.positions(fields) }
}

/// A cursor over rows that have been collected in memory.
final class TextListCursor: TextLeafCursor {
  private let list: TextRowList
  @exclusivity(unchecked) private var next = 0

  init(_ list: TextRowList) { self.list = list }

  override func moveToNext() throws {
    guard next < list.rows.count else {
      row = Self.end
      return
    }
    row = list.rows[next]
    frequency = list.frequencies.isEmpty ? 0 : list.frequencies[next]
    next += 1
  }

  override func seek(_ target: Int64) throws {
    guard row < target else { return }
    // Double the step until it reaches the target row, and then use a binary search within that
    // step.
    var (lower, step) = (next, 1)
    while lower + step < list.rows.count, list.rows[lower + step] < target { step *= 2 }
    var upper = min(lower + step, list.rows.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if list.rows[middle] < target { lower = middle + 1 } else { upper = middle }
    }
    next = lower
    try moveToNext()
  }

  override func positions() throws -> [UInt32] { list.positions[row] ?? [] }
}

/// A cursor over the intersection of several cursors' rows.
final class TextIntersection: TextCursor {
  private let required: [TextCursor]
  private let excluded: [TextCursor]
  /// A closure that returns whether to accept a row that all required cursors have reached, or
  /// `nil` to accept every such row.
  private let accepts: (() throws -> Bool)?

  /// Creates a cursor over the rows that are in all `required` cursors and in no `excluded` cursor.
  ///
  /// - Precondition: `required` is not empty. For speed, the cursor with the fewest rows should
  ///   come first.
  init(
    _ required: [TextCursor], excluding excluded: [TextCursor] = [],
    where accepts: (() throws -> Bool)? = nil
  ) {
    self.required = required
    self.excluded = excluded
    self.accepts = accepts
  }

  override func moveToNext() throws {
    try required[0].moveToNext()
    try align()
  }

  override func seek(_ target: Int64) throws {
    guard row < target else { return }
    try required[0].seek(target)
    try align()
  }

  private func align() throws {
    while required[0].row != Self.end {
      let target = required[0].row
      var isCommon = true
      for cursor in required.dropFirst() {
        try cursor.seek(target)
        if cursor.row != target {
          try required[0].seek(cursor.row)
          isCommon = false
          break
        }
      }
      guard isCommon else { continue }
      if try !isExcluded(target), try accepts?() ?? true {
        row = target
        return
      }
      try required[0].moveToNext()
    }
    row = Self.end
  }

  private func isExcluded(_ row: Int64) throws -> Bool {
    for cursor in excluded {
      try cursor.seek(row)
      if cursor.row == row { return true }
    }
    return false
  }
}

/// A cursor over the union of several cursors' rows.
final class TextUnion: TextCursor {
  private let cursors: [TextCursor]

  init(_ cursors: [TextCursor]) { self.cursors = cursors }

  override func moveToNext() throws { try seek(row + 1) }

  override func seek(_ target: Int64) throws {
    guard row < target else { return }
    var least = Self.end
    for cursor in cursors {
      try cursor.seek(target)
      least = min(least, cursor.row)
    }
    row = least
  }
}

/// The rows that contain at least one of several terms.
struct TextRowList {
  fileprivate(set) var rows: [Int64] = []
  /// The total weight of the terms' occurrences in each row.
  ///
  /// The array is empty if the list was created from row numbers alone.
  fileprivate(set) var frequencies: [Int] = []
  /// The positions at which the terms occur, in ascending order, keyed by row.
  ///
  /// The dictionary is empty if the positions are not needed.
  fileprivate(set) var positions: [Int64: [UInt32]] = [:]
  /// The number of rows in which any attribute contains one of the terms.
  private(set) var count = 0

  init(rows: [Int64]) { self.rows = rows }

  /// Creates the list of rows that contain at least one of several terms.
  init(
    _ terms: [(term: [UInt8], entry: TextIndexTerm)], _ reader: TextIndexReader, weights: [Int],
    fields: UInt64, needsPositions: Bool
  ) throws {
    let all = (1 << UInt64(weights.count)) &- 1 as UInt64
    var found: [(row: Int64, frequency: Int)] = []
    found.reserveCapacity(min(1 << 20, terms.reduce(0) { $0 + $1.entry.count }))
    for (term, entry) in terms {
      let cursor = TextWordCursor(reader, term, entry, weights: weights, fields: all)
      let own =
        fields == all
        ? nil : TextWordCursor(reader, term, entry, weights: weights, fields: fields)
      try cursor.moveToNext()
      while cursor.row != TextCursor.end {
        let leaf = own ?? cursor
        try leaf.seek(cursor.row)
        let isFound = leaf.row == cursor.row
        // A row that contains the terms only in other attributes is counted but not returned.
        found.append((cursor.row, isFound ? leaf.frequency : -1))
        if needsPositions, isFound {
          positions[cursor.row, default: []].append(contentsOf: try leaf.positions())
        }
        try cursor.moveToNext()
      }
    }
    if terms.count > 1 {
      found.sort { $0.row < $1.row }
      for row in positions.keys { positions[row]?.sort() }
    }
    merge(found)
  }

  /// Adds the rows of a sorted list, and combines repeated occurrences of the same row.
  private mutating func merge(_ found: [(row: Int64, frequency: Int)]) {
    var next = 0
    while next < found.count {
      let row = found[next].row
      var frequency = -1
      while next < found.count, found[next].row == row {
        let own = found[next].frequency
        if own >= 0 { frequency = max(0, frequency) + own }
        next += 1
      }
      count += 1
      guard frequency >= 0 else { continue }
      rows.append(row)
      frequencies.append(frequency)
    }
  }
}
