import HeartwoodEngine

/// Who does the workloads of rows: Heartwood, or a peer it is compared with.
protocol RowEngine: Sendable {
  /// What it is called in tables and in JSON.
  var name: String { get }
  /// What it is, with its version and how it is set up, as a line for people.
  var description: String { get }

  /// Makes an empty store in a folder that does not exist.
  func makeStore(in folder: String, _ rows: QuakeRows) throws -> any RowStore
}

/// A store of quake rows by row number and by code, and of one large value.
///
/// Whoever reads checks each row and folds it into a hash, so that all engines must come to the
/// same. The works it makes are for a thread each.
protocol RowStore: AnyObject {
  /// What loads all rows in the order of their numbers, in a transaction that need not be durable.
  ///
  /// What is done before it is returned is not timed.
  func loading() throws -> () throws -> Void
  /// Adds the rows by their codes.
  func loadCodes() throws
  /// Adds rows of the random order, in one transaction that need not be durable.
  func put(_ range: Range<Int>, of block: [UInt8]) throws
  /// Moves what was written from the log to where it stays, where there is a log.
  func settle() throws

  /// Random point reads by row number through one snapshot.
  func integerReads(from position: Int) throws -> any Work
  /// The same, several in one call where the engine has one.
  func integerReadsTogether() throws -> any Work
  /// Random point reads by code through one snapshot.
  func stringReads() throws -> any Work
  /// Full scans in the order of the row numbers through one snapshot.
  func scans() throws -> any Work
  /// Point reads that each begin and end a read of their own.
  func readsOfTheirOwn() throws -> any Work
  /// Transactions that each write one random row.
  func commits(_ durability: StoreOptions.Durability, seed: UInt64) throws -> any Work
  /// How many checkpoints there have been, where the engine makes them in the background.
  var checkpointCount: Int { get }

  /// Writes the large value, in one transaction that need not be durable.
  func putLarge(_ value: [UInt8]) throws
  /// Holds what the store has now, for as long as what is returned is kept.
  func pin() throws -> AnyObject

  /// Checks that the store is sound, and closes it.
  func finish() throws
}

extension RowStore {
  var checkpointCount: Int { 0 }
}

/// A row that every commit changes a little.
struct ChangingRow {
  /// The row as it is to be written.
  private(set) var bytes: [UInt8]
  private let rows: QuakeRows
  private var random: RandomNumbers

  init(_ rows: QuakeRows, seed: UInt64) {
    self.rows = rows
    bytes = rows.row(0)
    random = RandomNumbers(seed: seed)
  }

  /// Takes a random row and gives it another position; what reads fold into their hash stays.
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
