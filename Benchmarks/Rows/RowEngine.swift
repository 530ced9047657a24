import HeartwoodEngine

/// An engine for the workloads of rows: Heartwood, or a peer it is compared with.
protocol RowEngine: Sendable {
  /// Its name in tables and in JSON.
  var name: String { get }
  /// A line with its version and configuration.
  var description: String { get }

  /// Creates an empty store in a directory that does not exist.
  func makeStore(in directory: String, _ rows: QuakeRows) throws -> any RowStore
}

/// A store of quake rows by row number and by code, and of one large value.
///
/// Every read checks each row and folds it into a hash, so that all engines must produce the same
/// hash. Each of the works it creates is for one thread.
protocol RowStore: AnyObject {
  /// Returns a closure that loads all rows in the order of their numbers, in a transaction that
  /// need not be durable.
  ///
  /// The work before it returns is not timed.
  func loading() throws -> () throws -> Void
  /// Adds the rows by their codes.
  func loadCodes() throws
  /// Adds rows of the random order, in one transaction that need not be durable.
  func put(_ range: Range<Int>, of block: [UInt8]) throws
  /// Checkpoints the written rows, if the engine has a log.
  func checkpoint() throws

  /// Random point reads by row number through one snapshot.
  func integerReads(from position: Int) throws -> any Work
  /// The same, several in one call if the engine has such a call.
  func integerReadsTogether() throws -> any Work
  /// Random point reads by code through one snapshot.
  func stringReads() throws -> any Work
  /// Full scans in the order of the row numbers through one snapshot.
  func scans() throws -> any Work
  /// Point reads that each take and release a snapshot of their own.
  func snapshotPerRead() throws -> any Work
  /// Transactions that each write one random row.
  func commits(_ durability: StoreOptions.Durability, seed: UInt64) throws -> any Work
  /// The number of checkpoints so far, if the engine runs them in the background.
  var checkpointCount: Int { get }

  /// Writes the large value, in one transaction that need not be durable.
  func putLarge(_ value: [UInt8]) throws
  /// Pins the current state of the store for as long as the result is kept.
  func pin() throws -> AnyObject

  /// Checks that the store is intact, and closes it.
  func finish() throws
}

extension RowStore {
  var checkpointCount: Int { 0 }
}

/// A row that every commit changes slightly.
struct ChangingRow {
  /// The row to write.
  private(set) var bytes: [UInt8]
  private let rows: QuakeRows
  private var random: RandomNumbers

  init(_ rows: QuakeRows, seed: UInt64) {
    self.rows = rows
    bytes = rows.row(0)
    random = RandomNumbers(seed: seed)
  }

  /// Picks a random row and changes its position; the parts that reads fold into their hash stay.
  mutating func next() -> Int64 {
    let number = Int64(random.next() % UInt64(rows.count))
    stamp(UInt64(bitPattern: number), at: 0)
    stamp(rows.time(of: number), at: QuakeRow.time)
    stamp(random.next(), at: QuakeRow.longitude)
    return number
  }

  private mutating func stamp(_ word: UInt64, at offset: Int) {
    for byte in 0..<8 {
      bytes[offset + byte] = UInt8(truncatingIfNeeded: word >> UInt64(byte * 8))
    }
  }
}

@inline(never)
func missingRow(_ number: Int64) -> BenchFailure {
  BenchFailure("Row \(number) was loaded but a read does not find it.")
}
