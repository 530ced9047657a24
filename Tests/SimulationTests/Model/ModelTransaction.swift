import HeartwoodEngine
import HeartwoodTestSupport

/// Performs the random operations of one transaction, both in the store and in its expected
/// contents.
struct ModelTransaction {
  /// The error that is thrown to roll back a transaction.
  struct Abandoned: Error {}

  /// The name of the keyspace that contains the number of the last transaction.
  static let numberName = "number"

  let pageByteCount: Int
  var random: SeededGenerator
  var content: ReferenceContent

  /// Performs random changes and reads, and then writes the number, so that every transaction
  /// changes something.
  mutating func run(_ transaction: inout WriteTransaction, operationCount: Int) throws {
    for _ in 0..<operationCount { try operate(&transaction) }
    let number = withUnsafeBytes(of: content.number.bigEndian) { [UInt8]($0) }
    try transaction.keyspace(Self.numberName).put(0, number)
    content[Self.numberName, Key(0)] = number
  }

  /// Returns the number of the transaction that created the contents of a snapshot.
  static func number(of snapshot: Snapshot) throws -> Int {
    let value = try snapshot.keyspace(numberName)?.get(0) ?? []
    return value.reduce(0) { $0 << 8 | Int($1) }
  }

  /// Runs `body` in a savepoint, which is rolled back about half of the time.
  private mutating func atSavepoint(
    of transaction: inout WriteTransaction,
    _ body: (inout ModelTransaction, inout WriteTransaction) throws -> Void
  ) throws {
    let before = content
    let isAbandoned = random.isTrue(in256: 128)
    do {
      try transaction.savepoint { transaction in
        try body(&self, &transaction)
        if isAbandoned { throw Abandoned() }
      }
    } catch is Abandoned {
      content = before
      try ModelMismatch.unless(
        try transaction.keyspaceNames == content.names, "a keyspace outlived its savepoint")
    }
  }

  private mutating func operate(_ transaction: inout WriteTransaction, depth: Int = 0) throws {
    if depth < 3, random.isTrue(in256: 14) {
      return try atSavepoint(of: &transaction) { model, transaction in
        for _ in 0...model.random.below(6) {
          try model.operate(&transaction, depth: depth + 1)
        }
      }
    }
    let keyspace = ModelKeyspace.all[random.below(ModelKeyspace.all.count)]
    if random.isTrue(in256: 3) {
      try transaction.removeKeyspace(keyspace.name)
      content.remove(keyspace.name)
      try ModelMismatch.unless(
        try transaction.keyspaceNames == content.names, "a removed keyspace is still there")
      return
    }
    let writer = try transaction.keyspace(keyspace.name)
    content.make(keyspace.name)
    switch random.below(68) {
    case 0..<26: try put(keyspace, writer)
    case 26..<36: try putInChunks(keyspace, writer, &transaction)
    case 36..<46: try delete(keyspace.key(&random), keyspace, writer)
    case 46..<49: try putMany(keyspace, writer)
    case 49..<51: try deleteMany(keyspace, writer)
    case 51..<53: try load(keyspace, writer)
    case 53..<57: try changeBesideCursor(keyspace, writer)
    case 57..<61: try append(keyspace, writer)
    default:
      try KeyspaceComparison(
        keyspace: keyspace, reader: writer, rows: content.rows(keyspace.name)
      ).compareSome(&random)
    }
  }

  // MARK: Changes

  private mutating func put(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
    let key = keyspace.key(&random)
    var value = ModelKeyspace.value(&random, pageByteCount: pageByteCount)
    // Sometimes write the same value again. The repeated write does not change the contents, but
    // may write other pages.
    if random.isTrue(in256: 24), let old = content[keyspace.name, key.encoded] { value = old }
    try writer.put(key, value)
    content[keyspace.name, key.encoded] = value
  }

  /// Streams a value in chunks.
  ///
  /// Some of the streams end too early, and some throw. Between some of the chunks, other changes
  /// are made in a savepoint.
  private mutating func putInChunks(
    _ keyspace: ModelKeyspace, _ writer: KeyspaceWriter, _ transaction: inout WriteTransaction
  ) throws {
    let key = keyspace.key(&random)
    let value = ModelKeyspace.value(&random, pageByteCount: pageByteCount)
    let chunkByteCount = 1 + random.below(max(value.count, 1))
    let isAbandoned = random.isTrue(in256: 24)
    let isShort = !value.isEmpty && random.isTrue(in256: 24)
    do {
      try writer.put(key, byteCount: value.count) { target in
        var start = 0
        while start < value.count - (isShort ? 1 : 0) {
          let end = min(start + chunkByteCount, value.count - (isShort ? 1 : 0))
          try target.append(Array(value[start..<end]))
          start = end
          guard random.isTrue(in256: 24) else { continue }
          try atSavepoint(of: &transaction) { model, _ in
            try model.put(keyspace, writer)
            try model.delete(keyspace.key(&model.random), keyspace, writer)
          }
        }
        if isAbandoned { throw Abandoned() }
      }
      try ModelMismatch.unless(!isAbandoned && !isShort, "an incomplete value was accepted")
      content[keyspace.name, key.encoded] = value
    } catch is Abandoned {
      try ModelMismatch.unless(isAbandoned, "a complete value was abandoned")
    } catch let error as StorageError where error.kind == .invalidArgument && isShort {}
  }

  private mutating func delete(
    _ key: ModelKey, _ keyspace: ModelKeyspace, _ writer: KeyspaceWriter
  ) throws {
    let wasThere = content[keyspace.name, key.encoded] != nil
    try ModelMismatch.unless(
      try writer.delete(key) == wasThere, "deleting \(key.encoded) returned \(!wasThere)")
    content[keyspace.name, key.encoded] = nil
  }

  /// Writes many adjacent keys, so that nodes are split.
  private mutating func putMany(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
    let value = [UInt8](repeating: UInt8(random.below(256)), count: random.below(200))
    let start = random.below(keyspace.keyCount)
    for number in start..<min(start + random.below(120), keyspace.keyCount) {
      let key = keyspace.key(number)
      try writer.put(key, value)
      content[keyspace.name, key.encoded] = value
    }
  }

  /// Deletes many adjacent keys, so that nodes are merged and freed.
  private mutating func deleteMany(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
    let keys = content.rows(keyspace.name).keys
    guard !keys.isEmpty else { return }
    let start = random.below(keys.count)
    for key in keys[start..<min(start + random.below(150), keys.count)] {
      try delete(.parts(key), keyspace, writer)
    }
  }

  /// Loads entries, or none, into a keyspace, some of the time after deleting all of its entries.
  private mutating func load(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
    if random.isTrue(in256: 48) {
      let count = content.rows(keyspace.name).count
      try ModelMismatch.unless(
        try writer.delete(in: KeyRange()) == count, "deleting all did not return \(count)")
      content.remove(keyspace.name)
      content.make(keyspace.name)
    }
    var rows = ReferenceRows()
    for _ in 0..<(random.isTrue(in256: 64) ? 0 : random.below(200)) {
      rows[keyspace.key(&random).encoded] = ModelKeyspace.value(&random, pageByteCount: 400)
    }
    do {
      try writer.load(sorted: zip(rows.keys, rows.values))
      try ModelMismatch.unless(
        content.rows(keyspace.name).count == 0, "\(keyspace.name) was loaded, but is not empty")
      for (key, value) in zip(rows.keys, rows.values) { content[keyspace.name, key] = value }
    } catch let error as StorageError where error.kind == .invalidArgument {
      try ModelMismatch.unless(
        content.rows(keyspace.name).count > 0,
        "\(keyspace.name) was not loaded, but is empty: \(error)")
    }
  }

  /// Deletes some of the last keys, and appends some of them and other keys after the last key.
  ///
  /// Some of the appends have no keys. Some of the first values are borrowed from the keyspace.
  private mutating func append(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
    let lastKeys = content.rows(keyspace.name).keys.suffix(random.below(16))
    for key in lastKeys { try delete(.parts(key), keyspace, writer) }
    let rows = content.rows(keyspace.name)
    var new = ReferenceRows()
    for key in lastKeys + (0..<random.below(6)).map({ _ in keyspace.key(&random).encoded })
    where rows.position(of: key) == rows.count && random.isTrue(in256: 128) {
      new[key] = ModelKeyspace.value(&random, pageByteCount: 400)
    }
    func appendRows(from start: Int, to loader: inout KeyspaceLoader) throws {
      for position in start..<new.count {
        let value = new.values[position]
        try loader.append(new.keys[position], value.span.bytes)
      }
    }
    if rows.count > 0, let first = new.keys.first, random.isTrue(in256: 128) {
      let known = rows.count - 1 - random.below(min(rows.count, 20))
      new[first] = rows.values[known]
      _ = try writer.withValue(rows.keys[known]) { value in
        try writer.append { loader in
          try loader.append(first, value)
          try appendRows(from: 1, to: &loader)
        }
      }
    } else {
      try writer.append { try appendRows(from: 0, to: &$0) }
    }
    for (key, value) in zip(new.keys, new.values) { content[keyspace.name, key] = value }
  }

  /// Changes the keyspace while a cursor is in use, and expects that the cursor continues from its
  /// key.
  private mutating func changeBesideCursor(
    _ keyspace: ModelKeyspace, _ writer: KeyspaceWriter
  ) throws {
    let cursor = writer.cursor()
    guard try cursor.seek(keyspace.key(&random).encoded), let bytes = cursor.key else { return }
    let key = Key(unverified: bytes)
    for _ in 0..<random.below(4) {
      switch random.below(5) {
      case 0, 1: try put(keyspace, writer)
      case 2: try append(keyspace, writer)
      default:
        let other = keyspace.key(&random)
        try delete(random.isTrue(in256: 128) ? .parts(key) : other, keyspace, writer)
      }
    }
    let rows = content.rows(keyspace.name)
    let comparison = KeyspaceComparison(keyspace: keyspace, reader: writer, rows: rows)
    let position = rows.position(of: key)
    let value = try cursor.value
    try ModelMismatch.unless(
      value.map { rows[key]?.holds($0) == true } ?? (rows[key] == nil),
      "the value of \(key) at a cursor in \(keyspace.name) is not what was written")
    if random.isTrue(in256: 128) {
      let next = rows[key] == nil ? position : position + 1
      let moved = try cursor.moveToNext()
      try comparison.expect(cursor, at: next < rows.count ? next : nil, moved)
    } else {
      let moved = try cursor.moveToPrevious()
      try comparison.expect(cursor, at: position > 0 ? position - 1 : nil, moved)
    }
  }
}
