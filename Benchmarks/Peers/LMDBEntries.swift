/// LMDB as an engine for entries with byte keys.
struct LMDBEntries: EntryEngine {
  let library: LMDBLibrary
  let readsAhead: Bool

  let name = Engine.lmdb

  func makeStore(in directory: String, valueByteCount: Int) throws -> any EntryStore {
    try StoreDirectory.make(directory)
    return LMDBEntryStore(
      try LMDBEnvironment(library, directory: directory, readsAhead: readsAhead))
  }
}

private final class LMDBEntryStore: EntryStore {
  private let environment: LMDBEnvironment

  init(_ environment: LMDBEnvironment) { self.environment = environment }

  private struct Writer: EntryWriter {
    let environment: LMDBEnvironment
    let transaction: LMDBLibrary.Transaction

    func put(_ key: [UInt8], _ value: RawSpan) throws {
      try key.withUnsafeBytes { key in
        try environment.library.put(key, value, environment.entries, transaction, 0)
      }
    }

    func remove(_ key: [UInt8]) throws {
      try key.withUnsafeBytes { key in
        var key = LMDBValue(byteCount: key.count, start: key.baseAddress)
        let code = environment.library.delete(transaction, environment.entries, &key, nil)
        if code != LMDBLibrary.notFound { try environment.library.check(code) }
      }
    }
  }

  func prepare(isDurable: Bool) throws { try environment.prepare(isDurable: isDurable) }

  func write(isDurable: Bool, _ body: (any EntryWriter) throws -> Void) throws {
    try environment.write(isDurable: isDurable) { transaction in
      try body(Writer(environment: environment, transaction: transaction))
    }
  }

  func put(_ key: [UInt8], _ value: RawSpan, isDurable: Bool) throws {
    try environment.write(isDurable: isDurable) { transaction in
      try Writer(environment: environment, transaction: transaction).put(key, value)
    }
  }

  func reader(isPinned: Bool) throws -> any EntryReader {
    try LMDBEntryReader(try environment.reader(), isPinned: isPinned)
  }

  func compact() throws { try environment.compact() }

  /// Does nothing, because LMDB has no integrity check, and every read result has already been
  /// checked.
  func finish() {}
}

/// A reader that uses a single transaction.
///
/// Unless the reader is pinned, the transaction is renewed for each call.
///
/// The type is `@unchecked Sendable` because only the thread of one `Work` uses it.
private final class LMDBEntryReader: EntryReader, @unchecked Sendable {
  private let reader: LMDBReader
  private let library: LMDBLibrary
  private let database: UInt32
  private let cursor: LMDBLibrary.Cursor
  private let isPinned: Bool

  init(_ reader: LMDBReader, isPinned: Bool) throws {
    self.reader = reader
    self.isPinned = isPinned
    library = reader.environment.library
    database = reader.environment.entries
    var cursor: LMDBLibrary.Cursor?
    try library.check(library.openCursor(reader.transaction, database, &cursor))
    guard let cursor else { throw BenchFailure("LMDB cannot open a cursor.") }
    self.cursor = cursor
    if !isPinned { library.reset(reader.transaction) }
  }

  deinit { library.closeCursor(cursor) }

  func withValue(_ key: [UInt8], _ body: (RawSpan) throws -> Void) throws -> Bool {
    if !isPinned { try library.check(library.renew(reader.transaction)) }
    defer { if !isPinned { library.reset(reader.transaction) } }
    return try key.withUnsafeBytes { key in
      try library.withRow(key, database, reader.transaction, body) != nil
    }
  }

  func forEach(from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void) throws {
    if !isPinned {
      try library.check(library.renew(reader.transaction))
      try library.check(library.renewCursor(reader.transaction, cursor))
    }
    defer { if !isPinned { library.reset(reader.transaction) } }
    try key.withUnsafeBytes { key in
      var key = LMDBValue(byteCount: key.count, start: key.baseAddress)
      var value = LMDBValue()
      var operation = LMDBLibrary.setRange
      for _ in 0..<count {
        let code = library.move(cursor, &key, &value, operation)
        if code == LMDBLibrary.notFound { return }
        try library.check(code)
        try value.withBytes(body)
        operation = LMDBLibrary.next
      }
    }
  }
}
