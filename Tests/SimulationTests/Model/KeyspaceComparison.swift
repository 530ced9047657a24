import HeartwoodEngine
import HeartwoodTestSupport

/// Compares a keyspace of a snapshot or a transaction with the rows that it should contain.
struct KeyspaceComparison<Reader: KeyspaceReading> {
  let keyspace: ModelKeyspace
  let reader: Reader
  let rows: ReferenceRows

  /// Compares all entries.
  func compareAll() throws {
    try expectRange(from: nil, upTo: nil, reversed: false, limit: .max)
    try ModelMismatch.unless(
      try reader.count() == rows.count, "\(keyspace.name) does not count \(rows.count) keys")
  }

  /// Compares some of the entries, with a kind of read that is chosen at random.
  func compareSome(_ random: inout SeededGenerator) throws {
    switch random.below(6) {
    case 0, 1: for _ in 0..<12 { try compareValue(of: keyspace.key(&random), &random) }
    case 2: try compareMany(&random)
    case 3, 4: try compareRange(&random)
    default: try compareWalk(&random)
    }
    try ModelMismatch.unless(
      try reader.count() == rows.count, "\(keyspace.name) does not count \(rows.count) keys")
  }

  private func fail(_ key: Key, _ what: String) -> ModelMismatch {
    ModelMismatch(description: "\(what) of \(key) in \(keyspace.name) is not what was written")
  }

  // MARK: Values

  private func compareValue(of key: ModelKey, _ random: inout SeededGenerator) throws {
    let encoded = key.encoded
    let expected = rows[encoded]
    let found = try reader.get(key)
    guard found.map({ expected?.holds($0) == true }) ?? (expected == nil) else {
      throw fail(encoded, "the value")
    }
    guard try reader.valueByteCount(encoded) == expected?.count else {
      throw fail(encoded, "the length")
    }
    let isRight = try reader.withValue(encoded) { expected?.holds($0) == true }
    guard isRight == expected.map({ _ in true }) else { throw fail(encoded, "the span") }
    try compareChunks(of: encoded, expected, &random)
  }

  private func compareChunks(
    of key: Key, _ expected: [UInt8]?, _ random: inout SeededGenerator
  ) throws {
    var chunks: [UInt8] = []
    let isThere = try reader.forEachChunk(key) { $0.append(to: &chunks) }
    guard isThere == (expected != nil), chunks.holds(expected ?? []) else {
      throw fail(key, "a piece")
    }
    guard let expected else { return }
    let start = random.below(expected.count + 1)
    let range = start..<start + random.below(expected.count - start + 1)
    var part: [UInt8] = []
    _ = try reader.read(key, range: range) { $0.append(to: &part) }
    guard part.holds(Array(expected[range])) else { throw fail(key, "the part \(range)") }
  }

  private func compareMany(_ random: inout SeededGenerator) throws {
    var (keys, integers, strings): ([Key], [Int], [String]) = ([], [], [])
    for _ in 0..<random.below(40) {
      let key = keyspace.key(&random)
      keys.append(key.encoded)
      if case .integer(let integer) = key { integers.append(integer) }
      if case .string(let string) = key { strings.append(string) }
    }
    var next = 0
    func compare(_ index: Int, _ value: RawSpan?) throws {
      let expected = rows[keys[index]]
      var isRight = expected == nil
      if let value { isRight = expected?.holds(value) == true }
      guard index == next, isRight else { throw fail(keys[index], "value \(index) of many") }
      next += 1
    }
    if keyspace.kind == .integers { try reader.getMany(integers, compare) }
    if keyspace.kind == .strings { try reader.getMany(strings, compare) }
    try ModelMismatch.unless(
      next == integers.count + strings.count, "getMany passed \(next) of \(keys.count) keys")
  }

  // MARK: Order

  private func compareRange(_ random: inout SeededGenerator) throws {
    let lower = random.isTrue(in256: 200) ? keyspace.key(&random).encoded : nil
    let upper = random.isTrue(in256: 200) ? keyspace.key(&random).encoded : nil
    let limit = random.isTrue(in256: 128) ? random.below(60) + 1 : .max
    try expectRange(from: lower, upTo: upper, reversed: random.isTrue(in256: 128), limit: limit)
  }

  private func expectRange(from lower: Key?, upTo upper: Key?, reversed: Bool, limit: Int) throws {
    let range = rows.positions(from: lower, upTo: upper)
    var passed = 0
    try reader.forEach(from: lower, upTo: upper, reversed: reversed) { key, value in
      let position = reversed ? range.upperBound - 1 - passed : range.lowerBound + passed
      try ModelMismatch.unless(
        range.contains(position),
        "\(keyspace.name) has more than the \(range.count) rows from \(lower as Any) up to"
          + " \(upper as Any)")
      guard rows.keys[position].bytes.holds(key), rows.values[position].holds(value) else {
        throw fail(rows.keys[position], "the row")
      }
      passed += 1
      return passed < limit
    }
    try ModelMismatch.unless(
      passed == min(limit, range.count),
      "\(keyspace.name) has \(passed) of the \(range.count) rows from \(lower as Any) up to"
        + " \(upper as Any), reversed \(reversed), limit \(limit)")
  }

  /// Moves a cursor back and forth, and compares its positions with the expected positions.
  private func compareWalk(_ random: inout SeededGenerator) throws {
    let cursor = reader.cursor()
    var position: Int?
    for _ in 0..<40 {
      let moved: Bool
      switch random.below(position == nil ? 5 : 20) {
      case 0:
        moved = try cursor.moveToFirst()
        position = 0
      case 1:
        moved = try cursor.moveToLast()
        position = rows.count - 1
      case 2, 3, 4:
        let key = keyspace.key(&random).encoded
        moved = try cursor.seek(key)
        position = rows.position(of: key)
      case 5..<13:
        moved = try cursor.moveToNext()
        position = position.map { $0 + 1 }
      default:
        moved = try cursor.moveToPrevious()
        position = position.map { $0 - 1 }
      }
      position = position.flatMap { rows.keys.indices.contains($0) ? $0 : nil }
      try expect(cursor, at: position, moved)
    }
  }

  /// Expects that a cursor has moved to the row at `position`, or past the end if `position` is
  /// `nil`.
  func expect(_ cursor: Cursor, at position: Int?, _ moved: Bool) throws {
    try ModelMismatch.unless(
      moved == (position != nil) && cursor.isValid == moved,
      "a cursor in \(keyspace.name) moved: \(moved), to position \(position as Any)")
    guard let position else { return }
    guard cursor.key?.holds(rows.keys[position].bytes) == true else {
      throw fail(rows.keys[position], "the cursor's key")
    }
    guard try cursor.value?.holds(rows.values[position]) == true else {
      throw fail(rows.keys[position], "the cursor's value")
    }
  }
}

extension RawSpan {
  /// Appends the bytes to `array`.
  fileprivate func append(to array: inout [UInt8]) {
    withUnsafeBytes { array.append(contentsOf: $0) }
  }
}

extension ReferenceContent {
  /// Compares some of the contents of a snapshot, in ways that are chosen at random.
  func compareSome(_ snapshot: Snapshot, _ random: inout SeededGenerator) throws {
    try ModelMismatch.unless(try snapshot.keyspaceNames == names, "the keyspaces are not \(names)")
    for _ in 0..<3 {
      let keyspace = ModelKeyspace.all[random.below(ModelKeyspace.all.count)]
      let reader = try snapshot.keyspace(keyspace.name)
      try ModelMismatch.unless(
        (reader != nil) == (keyspaces[keyspace.name] != nil),
        "\(keyspace.name) exists: \(reader != nil)")
      guard let reader else { continue }
      try KeyspaceComparison(keyspace: keyspace, reader: reader, rows: rows(keyspace.name))
        .compareSome(&random)
    }
  }

  /// Compares the complete contents of a snapshot.
  func compareAll(_ snapshot: Snapshot) throws {
    try ModelMismatch.unless(try snapshot.keyspaceNames == names, "the keyspaces are not \(names)")
    for keyspace in ModelKeyspace.all {
      guard let reader = try snapshot.keyspace(keyspace.name) else { continue }
      try KeyspaceComparison(keyspace: keyspace, reader: reader, rows: rows(keyspace.name))
        .compareAll()
    }
  }
}
