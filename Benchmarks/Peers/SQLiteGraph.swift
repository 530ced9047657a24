/// SQLite as an object engine, configured for speed: WAL, memory-mapped pages, a large cache,
/// prepared statements and no mutex.
///
/// With `synchronous=FULL`, commits are as durable as Heartwood's commits.
struct SQLiteGraph: GraphEngine {
  let library: SQLiteLibrary

  let name = Engine.sqlite
  var description: String {
    "SQLite \(library.version), WAL, synchronous=FULL, mmap, 64 MiB of cache, prepared statements"
  }

  /// The settings of databases whose transactions are durable.
  static let durableSettings = [
    "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA mmap_size=1073741824",
    "PRAGMA cache_size=-65536", "PRAGMA temp_store=MEMORY",
    // Disable automatic checkpoints. The benchmark runs SQLite's checkpoints only outside the
    // measured periods, because Heartwood runs its checkpoints in the background.
    "PRAGMA wal_autocheckpoint=0",
  ]

  func makeStore(in directory: String) throws -> any GraphStore {
    try SQLiteGraphStore(library, directory)
  }
}

private final class SQLiteGraphStore: GraphStore {
  private let database: SQLiteDatabase
  private let insertItem: SQLiteStatement
  private let insertQuake: SQLiteStatement
  private let allItems: SQLiteStatement
  private let quakeOfCode: SQLiteStatement
  private let newestQuakes: SQLiteStatement
  private let countInRange: SQLiteStatement
  private let countContaining: SQLiteStatement
  private let changeDepth: SQLiteStatement
  private let deleteQuake: SQLiteStatement

  private static let tables = [
    """
    CREATE TABLE item (
      i0 INTEGER NOT NULL, i1 INTEGER NOT NULL, i2 INTEGER NOT NULL, i3 INTEGER NOT NULL,
      i4 INTEGER NOT NULL, i5 INTEGER NOT NULL, i6 INTEGER NOT NULL, i7 INTEGER NOT NULL,
      i8 INTEGER NOT NULL, i9 INTEGER NOT NULL)
    """,
    """
    CREATE TABLE quake (
      id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, place TEXT NOT NULL, time REAL NOT NULL,
      magnitude REAL NOT NULL, longitude REAL NOT NULL, latitude REAL NOT NULL,
      depth REAL NOT NULL)
    """,
    "CREATE INDEX quake_time ON quake (time)",
  ]

  private static let quakeColumns = "code, place, time, magnitude, longitude, latitude, depth"

  init(_ library: SQLiteLibrary, _ directory: String) throws {
    try StoreDirectory.make(directory)
    database = try SQLiteDatabase(library, path: directory + "/database")
    for text in SQLiteGraph.durableSettings + Self.tables { try database.run(text) }
    insertItem = try SQLiteStatement(
      database, "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    insertQuake = try SQLiteStatement(
      database, "INSERT INTO quake (\(Self.quakeColumns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
    allItems = try SQLiteStatement(
      database, "SELECT i0, i1, i2, i3, i4, i5, i6, i7, i8, i9 FROM item")
    quakeOfCode = try SQLiteStatement(
      database, "SELECT \(Self.quakeColumns) FROM quake WHERE code = ?")
    newestQuakes = try SQLiteStatement(
      database,
      """
      SELECT \(Self.quakeColumns) FROM quake WHERE magnitude >= ?
      ORDER BY time DESC LIMIT \(newestQuakeCount)
      """)
    countInRange = try SQLiteStatement(
      database, "SELECT count(*) FROM quake WHERE time >= ? AND time < ?")
    countContaining = try SQLiteStatement(
      database, "SELECT count(*) FROM quake WHERE instr(place, ?) > 0")
    changeDepth = try SQLiteStatement(database, "UPDATE quake SET depth = ?2 WHERE code = ?1")
    deleteQuake = try SQLiteStatement(database, "DELETE FROM quake WHERE code = ?")
  }

  func insertItems(_ count: Int) throws {
    try database.run("BEGIN IMMEDIATE")
    for row in 0..<Int64(count) {
      for place in Int32(1)...10 { insertItem.bind(row, at: place) }
      _ = try insertItem.step()
      insertItem.reset()
    }
    try database.run("COMMIT")
  }

  func insertQuakes(_ quakes: [Quake]) throws {
    try database.run("BEGIN IMMEDIATE")
    for quake in quakes {
      try insertQuake.binding((quake.code, quake.place)) {
        insertQuake.bind(quake.seconds, at: 3)
        insertQuake.bind(Double(quake.magnitude), at: 4)
        insertQuake.bind(Double(quake.longitude), at: 5)
        insertQuake.bind(Double(quake.latitude), at: 6)
        insertQuake.bind(Double(quake.depth), at: 7)
        _ = try insertQuake.step()
        insertQuake.reset()
      }
    }
    try database.run("COMMIT")
  }

  func checkpoint() throws { try database.run("PRAGMA wal_checkpoint(TRUNCATE)") }

  func readItems() throws -> UInt64 {
    var hash: UInt64 = 0
    let rows = allItems
    while try rows.step() {
      let first =
        rows.integer(0) &+ rows.integer(1) &+ rows.integer(2) &+ rows.integer(3)
        &+ rows.integer(4)
      let second =
        rows.integer(5) &+ rows.integer(6) &+ rows.integer(7) &+ rows.integer(8)
        &+ rows.integer(9)
      hash = fold(hash, UInt64(bitPattern: first &- 3 &* second))
    }
    rows.reset()
    return hash
  }

  func findQuakes(_ codes: ArraySlice<String>) throws -> UInt64 {
    var hash: UInt64 = 0
    for code in codes {
      try quakeOfCode.binding(code) {
        guard try quakeOfCode.step() else {
          throw BenchFailure("The quake \(code) was inserted, but SQLite did not find it.")
        }
        hash = quakeOfCode.foldedQuake(into: hash)
        quakeOfCode.reset()
      }
    }
    return hash
  }

  func findNewest(magnitude: Float, times: Int) throws -> UInt64 {
    var hash: UInt64 = 0
    for _ in 0..<times {
      newestQuakes.bind(Double(magnitude), at: 1)
      while try newestQuakes.step() { hash = newestQuakes.foldedQuake(into: hash) }
      newestQuakes.reset()
    }
    return hash
  }

  func countQuakes(in ranges: [Range<Double>]) throws -> UInt64 {
    var hash: UInt64 = 0
    for range in ranges {
      countInRange.bind(range.lowerBound, at: 1)
      countInRange.bind(range.upperBound, at: 2)
      _ = try countInRange.step()
      hash = fold(hash, UInt64(countInRange.integer(0)))
      countInRange.reset()
    }
    return hash
  }

  func countQuakes(containing texts: [String]) throws -> UInt64 {
    var hash: UInt64 = 0
    for text in texts {
      try countContaining.binding(text) {
        _ = try countContaining.step()
        hash = fold(hash, UInt64(countContaining.integer(0)))
        countContaining.reset()
      }
    }
    return hash
  }

  func changeQuakes(_ codes: ArraySlice<String>, depth: Float) throws {
    for code in codes {
      try changeDepth.binding(code) {
        changeDepth.bind(Double(depth), at: 2)
        _ = try changeDepth.step()
        changeDepth.reset()
      }
    }
  }

  func deleteQuakes(_ codes: ArraySlice<String>) throws {
    try database.run("BEGIN IMMEDIATE")
    for code in codes {
      try deleteQuake.binding(code) {
        _ = try deleteQuake.step()
        deleteQuake.reset()
      }
    }
    try database.run("COMMIT")
  }

  func finish() throws { try database.requireIntegrity() }
}

extension SQLiteStatement {
  /// Returns the hash that results from folding the quake in the current row into `hash`.
  @inline(__always)
  fileprivate func foldedQuake(into hash: UInt64) -> UInt64 {
    fold(
      hash, time: double(2), magnitude: double(3), position: (double(4), double(5), double(6)),
      textSum: textSum(0) &+ textSum(1))
  }
}
