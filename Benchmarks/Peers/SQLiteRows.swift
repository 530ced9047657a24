import Foundation
import HeartwoodEngine

/// SQLite as a row engine, with WAL, memory-mapped pages, a large cache, prepared statements and no
/// mutex.
///
/// The commit that brings the log to 16 MiB also runs a checkpoint. Heartwood uses the same limit.
/// A one-row commit is a prepared `UPDATE` in autocommit mode. All threads share one connection for
/// commits. If each thread had its own connection, the connections would wait for each other, which
/// would be slower.
struct SQLiteRows: RowEngine {
  let library: SQLiteLibrary

  let name = Engine.sqlite
  var description: String {
    "SQLite \(library.version), WAL, synchronous=NORMAL where Heartwood uses .normal and FULL for "
      + ".full, checkpoints at 16 MiB of log, mmap, 512 MiB of cache, prepared statements, "
      + "autocommit for one row"
  }

  func makeStore(in directory: String, _ rows: QuakeRows) throws -> any RowStore {
    try SQLiteRowStore(library, directory, rows)
  }
}

private final class SQLiteRowStore: RowStore {
  private let library: SQLiteLibrary
  private let path: String
  private let rows: QuakeRows
  private let writer: SQLiteWriter

  init(_ library: SQLiteLibrary, _ directory: String, _ rows: QuakeRows) throws {
    try StoreDirectory.make(directory)
    self.library = library
    self.rows = rows
    path = directory + "/database"
    let database = try SQLiteDatabase(library, path: path)
    try database.setUp()
    try database.run("CREATE TABLE quakes (number INTEGER PRIMARY KEY, row BLOB NOT NULL)")
    try database.run(
      "CREATE TABLE codes (code TEXT PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID")
    try database.run("CREATE TABLE large (number INTEGER PRIMARY KEY, value BLOB NOT NULL)")
    writer = try SQLiteWriter(database)
  }

  func loading() -> () throws -> Void {
    { [writer, rows] in
      try writer.write(.normal) {
        let block = rows.block.span
        for number in 0..<Int64(rows.count) {
          try writer.insert(number, block.extracting(rows.byteRange(number)))
        }
      }
    }
  }

  func loadCodes() throws {
    try writer.write(.normal) { [rows] in
      let block = rows.block.span
      for key in rows.sortedCodes() {
        try writer.insert(key.code, block.extracting(rows.byteRange(key.number)))
      }
    }
  }

  func put(_ range: Range<Int>, of block: [UInt8]) throws {
    try writer.write(.normal) {
      let bytes = block.span
      for index in range {
        let start = index * QuakeRow.byteCount
        let row = bytes.extracting(start..<start + QuakeRow.byteCount)
        try writer.insert(rows.shuffledNumbers[index], row)
      }
    }
  }

  func checkpoint() throws { try writer.database.run("PRAGMA wal_checkpoint(TRUNCATE)") }

  func integerReads(from position: Int) throws -> any Work {
    SQLiteIntegerReads(try statement(.row, isPinned: true), rows.shuffledNumbers, from: position)
  }

  func integerReadsTogether() throws -> any Work { try integerReads(from: 0) }

  func stringReads() throws -> any Work {
    SQLiteStringReads(try statement(.rowOfCode, isPinned: true), rows.shuffledCodes)
  }

  func scans() throws -> any Work {
    SQLiteScans(statement: try statement(.allRows, isPinned: true), operationsPerTurn: rows.count)
  }

  func snapshotPerRead() throws -> any Work {
    SQLiteIntegerReads(try statement(.row, isPinned: false), rows.shuffledNumbers, from: 0)
  }

  func commits(_ durability: StoreOptions.Durability, seed: UInt64) -> any Work {
    SQLiteCommits(writer, durability, ChangingRow(rows, seed: seed))
  }

  func putLarge(_ value: [UInt8]) throws {
    try writer.write(.normal) { try writer.insertLarge(value.span) }
  }

  func pin() throws -> AnyObject { try statement(.row, isPinned: true) }

  func finish() throws {
    let check = try SQLiteStatement(
      writer.database, "SELECT integrity_check = 'ok' FROM pragma_integrity_check")
    guard try check.step(), check.integer(0) == 1 else {
      throw BenchFailure("The SQLite database failed its integrity check.")
    }
  }

  private enum Query: String {
    case row = "SELECT row FROM quakes WHERE number = ?"
    case rowOfCode = "SELECT row FROM codes WHERE code = ?"
    case allRows = "SELECT number, row FROM quakes ORDER BY number"
  }

  /// Returns a statement with its own connection.
  ///
  /// If `isPinned` is true, the connection has already begun a read transaction.
  private func statement(_ query: Query, isPinned: Bool) throws -> SQLiteStatement {
    let database = try SQLiteDatabase(library, path: path)
    try database.setUp()
    if isPinned {
      try database.run("BEGIN")
      try database.run("SELECT count(*) FROM large")
    }
    return try SQLiteStatement(database, query.rawValue)
  }
}

extension SQLiteDatabase {
  /// Applies the settings that all connections share.
  ///
  /// The cache uses memory only for pages that a connection writes and for pages that are not
  /// mapped.
  ///
  /// - Parameter readsAhead: Whether the data fit in memory. If the data do not fit, files are not
  ///   mapped, and the cache is as large as Heartwood's cache.
  func setUp(readsAhead: Bool = true) throws {
    for text in [
      // Wait for locks, because a checkpoint in another connection may briefly hold a lock.
      "PRAGMA busy_timeout=10000",
      "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
      "PRAGMA mmap_size=\(readsAhead ? 2_147_418_112 : 0)",
      "PRAGMA cache_size=\(readsAhead ? -524_288 : -65_536)", "PRAGMA temp_store=MEMORY",
      "PRAGMA wal_autocheckpoint=4096",
    ] { try run(text) }
  }
}

/// The connection for writing, and its lock.
///
/// The type is `@unchecked Sendable` because the connection is used only while the lock is held.
final class SQLiteWriter: @unchecked Sendable {
  let database: SQLiteDatabase
  private let lock = NSLock()
  private let begin: SQLiteStatement
  private let commit: SQLiteStatement
  private let insertRow: SQLiteStatement
  private let updateRow: SQLiteStatement
  private let insertCode: SQLiteStatement
  private let insertLarge: SQLiteStatement
  private var durability = StoreOptions.Durability.normal

  init(_ database: SQLiteDatabase) throws {
    self.database = database
    begin = try SQLiteStatement(database, "BEGIN IMMEDIATE")
    commit = try SQLiteStatement(database, "COMMIT")
    insertRow = try SQLiteStatement(database, "INSERT INTO quakes VALUES (?, ?)")
    updateRow = try SQLiteStatement(database, "UPDATE quakes SET row = ?2 WHERE number = ?1")
    insertCode = try SQLiteStatement(database, "INSERT INTO codes VALUES (?, ?)")
    insertLarge = try SQLiteStatement(database, "INSERT OR REPLACE INTO large VALUES (0, ?)")
  }

  /// Runs a transaction with the given durability.
  func write(_ durability: StoreOptions.Durability, _ body: () throws -> Void) throws {
    try lock.withLock {
      try setDurability(durability)
      _ = try begin.step()
      begin.reset()
      try body()
      _ = try commit.step()
      commit.reset()
    }
  }

  /// Overwrites an existing row in a separate transaction.
  func update(
    _ number: Int64, _ row: Span<UInt8>, _ durability: StoreOptions.Durability
  ) throws {
    try lock.withLock {
      try setDurability(durability)
      updateRow.bind(number, at: 1)
      try updateRow.run(row, at: 2)
    }
  }

  private func setDurability(_ durability: StoreOptions.Durability) throws {
    guard durability != self.durability else { return }
    try database.run("PRAGMA synchronous=\(durability == .full ? "FULL" : "NORMAL")")
    self.durability = durability
  }

  func insert(_ number: Int64, _ row: Span<UInt8>) throws {
    insertRow.bind(number, at: 1)
    try insertRow.run(row, at: 2)
  }

  func insert(_ code: String, _ row: Span<UInt8>) throws {
    try insertCode.binding(code) { try insertCode.run(row, at: 2) }
  }

  func insertLarge(_ value: Span<UInt8>) throws { try insertLarge.run(value, at: 1) }
}
