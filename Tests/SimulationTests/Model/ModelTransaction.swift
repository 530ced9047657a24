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

  /// Performs some operations in a savepoint, which is rolled back about half of the time.
  private mutating func operateAtSavepoint(
    _ transaction: inout WriteTransaction, depth: Int
  ) throws {
    let before = content
    let isAbandoned = random.isTrue(in256: 128)
    do {
      try transaction.savepoint { transaction in
        for _ in 0...random.below(6) { try operate(&transaction, depth: depth) }
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
      return try operateAtSavepoint(&transaction, depth: depth + 1)
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
    switch random.below(64) {
    case 0..<26: try put(keyspace, writer)
    case 26..<36: try putInChunks(keyspace, writer)
    case 36..<46: try delete(keyspace.key(&random), keyspace, writer)
    case 46..<49: try putMany(keyspace, writer)
    case 49..<51: try deleteMany(keyspace, writer)
    case 51..<53: try load(keyspace, writer)
    case 53..<57: try changeBesideCursor(keyspace, writer)
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
  /// Some of the streams end too early, and some throw.
  private mutating func putInChunks(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
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

  private mutating func load(_ keyspace: ModelKeyspace, _ writer: KeyspaceWriter) throws {
    var rows = ReferenceRows()
    for _ in 0..<random.below(200) {
      rows[keyspace.key(&random).encoded] = ModelKeyspace.value(&random, pageByteCount: 400)
    }
    do {
      try writer.load(sorted: zip(rows.keys, rows.values))
      try ModelMismatch.unless(
        content.rows(keyspace.name).count == 0, "\(keyspace.name) was loaded, but is not empty")
      for (key, value) in zip(rows.keys, rows.values) { content[keyspace.name, key] = value }
    } catch let error as StorageError where error.kind == .invalidArgument {
      try ModelMismatch.unless(
        content.rows(keyspace.name).count > 0, "\(keyspace.name) was not loaded, but is empty")
    }
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
      if random.isTrue(in256: 128) {
        try put(keyspace, writer)
      } else {
        let other = keyspace.key(&random)
        try delete(random.isTrue(in256: 128) ? .parts(key) : other, keyspace, writer)
      }
    }
    let rows = content.rows(keyspace.name)
    let comparison = KeyspaceComparison(keyspace: keyspace, reader: writer, rows: rows)
    let position = rows.position(of: key)
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
