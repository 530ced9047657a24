import HeartwoodEngine

/// RocksDB as an engine for rows and for entries with byte keys.
///
/// The key of a row begins with a letter that distinguishes rows by number, rows by code, and the
/// large value. Commits write to RocksDB's log. In workloads where Heartwood uses `.normal`
/// durability, commits do not sync the log.
struct RocksDBRows: RowEngine, EntryEngine {
  let library: RocksDBLibrary

  let name = Engine.rocksdb
  /// The maximum number of puts in a transaction, which is a batch in memory that RocksDB copies to
  /// its log and its memory table.
  let mostPutsPerTransaction = 100_000

  var description: String {
    "RocksDB \(library.version), no compression, Bloom filters, "
      + "\(RocksDBLibrary.cacheByteCount >> 20) MiB of block cache, "
      + "\(RocksDBLibrary.writeBufferByteCount >> 20) MiB of write buffer, "
      + "sync=false where Heartwood uses .normal"
  }

  func makeStore(in directory: String, _ rows: QuakeRows) throws -> any RowStore {
    RocksDBRowStore(try RocksDBDatabase(library, path: directory), rows)
  }

  func makeStore(in directory: String, valueByteCount: Int) throws -> any EntryStore {
    RocksDBEntryStore(try RocksDBDatabase(library, path: directory))
  }
}

private final class RocksDBEntryStore: EntryStore {
  private let database: RocksDBDatabase

  init(_ database: RocksDBDatabase) { self.database = database }

  func write(isDurable: Bool, _ body: (any EntryWriter) throws -> Void) throws {
    try database.write(isDurable: isDurable) { try body($0) }
  }

  func put(_ key: [UInt8], _ value: RawSpan, isDurable: Bool) throws {
    try database.put(key, value, isDurable: isDurable)
  }

  func reader(isPinned: Bool) throws -> any EntryReader {
    try RocksDBReader(database, isPinned: isPinned)
  }

  func compact() { database.compact() }

  /// Does nothing, because every block that is read has a checksum, and every read result has
  /// already been checked.
  func finish() {}
}

/// The key of a row, which can be changed without allocating memory.
struct RocksDBRowKey: Sendable {
  private(set) var bytes: [UInt8]

  /// The letter at the beginning of all keys of rows by number.
  static let numberLetter = UInt8(ascii: "n")

  /// Creates the key of a row, given its number.
  init(_ number: Int64) {
    bytes = [Self.numberLetter] + [UInt8](repeating: 0, count: 8)
    set(number)
  }

  /// Creates the key of a row, given its code.
  init(_ code: String) { bytes = [UInt8(ascii: "c")] + Array(code.utf8) }

  /// Changes the key to the key of another row, given that row's number.
  @inline(__always)
  mutating func set(_ number: Int64) {
    var span = bytes.mutableSpan
    var words = span.mutableBytes
    words.storeBytes(
      of: UInt64(bitPattern: number).bigEndian, toByteOffset: 1, as: UInt64.self)
  }

  /// Changes the key to the key of another row, given that row's code.
  @inline(__always)
  mutating func set(_ code: String) {
    for (index, byte) in code.utf8.enumerated() { bytes[index + 1] = byte }
  }
}

private final class RocksDBRowStore: RowStore {
  private let database: RocksDBDatabase
  private let rows: QuakeRows

  private static let largeKey = Array("l".utf8)
  private static let rowsPerBatch = 100_000

  init(_ database: RocksDBDatabase, _ rows: QuakeRows) {
    self.database = database
    self.rows = rows
  }

  func loading() -> () throws -> Void {
    { [database, rows] in
      let block = rows.block.span.bytes
      var key = RocksDBRowKey(0)
      for start in stride(from: 0, to: rows.count, by: Self.rowsPerBatch) {
        try database.write(isDurable: false) { batch in
          for number in Int64(start)..<Int64(min(start + Self.rowsPerBatch, rows.count)) {
            key.set(number)
            batch.put(key.bytes, block.extracting(rows.byteRange(number)))
          }
        }
      }
    }
  }

  func loadCodes() throws {
    try database.write(isDurable: false) { [rows] batch in
      let block = rows.block.span.bytes
      for key in rows.sortedCodes() {
        batch.put(RocksDBRowKey(key.code).bytes, block.extracting(rows.byteRange(key.number)))
      }
    }
  }

  func put(_ range: Range<Int>, of block: [UInt8]) throws {
    var key = RocksDBRowKey(0)
    try database.write(isDurable: false) { batch in
      let bytes = block.span.bytes
      for index in range {
        let start = index * QuakeRow.byteCount
        key.set(rows.shuffledNumbers[index])
        batch.put(key.bytes, bytes.extracting(start..<start + QuakeRow.byteCount))
      }
    }
  }

  /// Compacts the database, so that reads search as few files as possible.
  func checkpoint() { database.compact() }

  func integerReads(from position: Int) throws -> any Work {
    RocksDBIntegerReads(try reader(isPinned: true), rows.shuffledNumbers, from: position)
  }

  func integerReadsTogether() throws -> any Work { try integerReads(from: 0) }

  func stringReads() throws -> any Work {
    RocksDBStringReads(try reader(isPinned: true), rows.shuffledCodes)
  }

  func scans() throws -> any Work {
    RocksDBScans(reader: try reader(isPinned: true), operationsPerTurn: rows.count)
  }

  /// Creates point reads that each return the newest state, as if each took its own snapshot.
  func snapshotPerRead() throws -> any Work {
    RocksDBIntegerReads(try reader(isPinned: false), rows.shuffledNumbers, from: 0)
  }

  func commits(_ durability: StoreOptions.Durability, seed: UInt64) -> any Work {
    RocksDBCommits(database, durability, ChangingRow(rows, seed: seed))
  }

  func putLarge(_ value: [UInt8]) throws {
    try database.put(Self.largeKey, value.span.bytes, isDurable: false)
  }

  func pin() throws -> AnyObject { try reader(isPinned: true) }

  /// Does nothing, because every block that is read has a checksum, and every read result has
  /// already been checked.
  func finish() {}

  private func reader(isPinned: Bool) throws -> RocksDBReader {
    try RocksDBReader(database, isPinned: isPinned)
  }
}
