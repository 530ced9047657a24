import Foundation

/// SQLite as an engine for entries with byte keys, with the settings of ``SQLiteRows``.
struct SQLiteEntries: EntryEngine {
  let library: SQLiteLibrary
  let readsAhead: Bool

  let name = Engine.sqlite

  func makeStore(in directory: String, valueByteCount: Int) throws -> any EntryStore {
    try SQLiteEntryStore(
      library, directory, valueByteCount: valueByteCount, readsAhead: readsAhead)
  }
}

/// A SQLite database with one table of entries.
///
/// The type is `@unchecked Sendable` because the connection for writing is used only while the lock
/// is held.
private final class SQLiteEntryStore: EntryStore, @unchecked Sendable {
  private let library: SQLiteLibrary
  private let readsAhead: Bool
  private let path: String
  private let database: SQLiteDatabase
  private let lock = NSLock()
  private let begin: SQLiteStatement
  private let commit: SQLiteStatement
  private let putEntry: SQLiteStatement
  private let removeEntry: SQLiteStatement
  private var isDurable = false

  /// The maximum size, in bytes, of values that are stored directly in the primary-key index.
  ///
  /// SQLite's documentation recommends this layout for rows of up to about a twentieth of a page.
  private static let mostIndexedBytes = 200

  init(
    _ library: SQLiteLibrary, _ directory: String, valueByteCount: Int, readsAhead: Bool
  ) throws {
    try StoreDirectory.make(directory)
    self.library = library
    self.readsAhead = readsAhead
    path = directory + "/database"
    database = try SQLiteDatabase(library, path: path)
    try database.setUp(readsAhead: readsAhead)
    try database.run(
      "CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
        + (valueByteCount <= Self.mostIndexedBytes ? " WITHOUT ROWID" : ""))
    begin = try SQLiteStatement(database, "BEGIN IMMEDIATE")
    commit = try SQLiteStatement(database, "COMMIT")
    putEntry = try SQLiteStatement(
      database,
      "INSERT INTO entries VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    removeEntry = try SQLiteStatement(database, "DELETE FROM entries WHERE key = ?")
  }

  private struct Writer: EntryWriter {
    let putEntry: SQLiteStatement
    let removeEntry: SQLiteStatement

    func put(_ key: [UInt8], _ value: RawSpan) throws {
      try putEntry.binding(key) { try putEntry.run(value, at: 2) }
    }

    func remove(_ key: [UInt8]) throws {
      try removeEntry.binding(key) {
        _ = try removeEntry.step()
        removeEntry.reset()
      }
    }
  }

  func write(isDurable: Bool, _ body: (any EntryWriter) throws -> Void) throws {
    try lock.withLock {
      try setDurability(isDurable)
      _ = try begin.step()
      begin.reset()
      try body(Writer(putEntry: putEntry, removeEntry: removeEntry))
      _ = try commit.step()
      commit.reset()
    }
  }

  func put(_ key: [UInt8], _ value: RawSpan, isDurable: Bool) throws {
    try lock.withLock {
      try setDurability(isDurable)
      try putEntry.binding(key) { try putEntry.run(value, at: 2) }
    }
  }

  private func setDurability(_ isDurable: Bool) throws {
    guard isDurable != self.isDurable else { return }
    try database.run("PRAGMA synchronous=\(isDurable ? "FULL" : "NORMAL")")
    self.isDurable = isDurable
  }

  func reader(isPinned: Bool) throws -> any EntryReader {
    let database = try SQLiteDatabase(library, path: path)
    try database.setUp(readsAhead: readsAhead)
    if isPinned {
      try database.run("BEGIN")
      try database.run("SELECT 1 FROM entries LIMIT 1")
    }
    return SQLiteEntryReader(
      value: try SQLiteStatement(database, "SELECT value FROM entries WHERE key = ?"),
      range: try SQLiteStatement(
        database, "SELECT value FROM entries WHERE key >= ? ORDER BY key"))
  }

  func compact() throws {
    try database.run("VACUUM")
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func finish() throws {
    let check = try SQLiteStatement(
      database, "SELECT integrity_check = 'ok' FROM pragma_integrity_check")
    guard try check.step(), check.integer(0) == 1 else {
      throw BenchFailure("The SQLite database failed its integrity check.")
    }
  }
}

/// A reader that uses a single connection.
///
/// If the reader is pinned, the connection is in a read transaction.
private final class SQLiteEntryReader: EntryReader {
  private let value: SQLiteStatement
  private let range: SQLiteStatement

  init(value: SQLiteStatement, range: SQLiteStatement) {
    self.value = value
    self.range = range
  }

  func withValue(_ key: [UInt8], _ body: (RawSpan) throws -> Void) throws -> Bool {
    try value.binding(key) {
      defer { value.reset() }
      guard try value.step() else { return false }
      try value.withBytes(0, body)
      return true
    }
  }

  func forEach(from key: [UInt8], count: Int, _ body: (RawSpan) throws -> Void) throws {
    try range.binding(key) {
      defer { range.reset() }
      var remaining = count
      while remaining > 0, try range.step() {
        try range.withBytes(0, body)
        remaining -= 1
      }
    }
  }
}
