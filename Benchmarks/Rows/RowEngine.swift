import HeartwoodEngine

/// An engine for the row workloads: Heartwood, or a peer with which it is compared.
protocol RowEngine: Sendable {
  /// The name of the engine, as shown in tables and in JSON.
  var name: String { get }
  /// A one-line description of the engine's version and configuration.
  var description: String { get }

  /// Creates an empty store in a directory that does not exist yet.
  func makeStore(in directory: String, _ rows: QuakeRows) throws -> any RowStore
}

/// A store that contains quake rows by row number and by code, and one large value.
///
/// Reads check each row and fold it into a hash, which must be the same for all engines. Each
/// `Work` that the store creates is used by only one thread.
protocol RowStore: AnyObject {
  /// Returns a closure that loads all rows in the order of their numbers, in a transaction that
  /// need not be durable.
  ///
  /// Only the closure is timed, not the preparation in this method.
  func loading() throws -> () throws -> Void
  /// Adds all rows, with their codes as keys.
  func loadCodes() throws
  /// Adds a range of the rows in `block`, in one transaction that need not be durable.
  ///
  /// - Parameter block: All rows, in the order of ``QuakeRows/shuffledNumbers``.
  func put(_ range: Range<Int>, of block: [UInt8]) throws
  /// Checkpoints the written rows, if the engine has a log.
  func checkpoint() throws

  /// Creates random point reads by row number through one snapshot.
  func integerReads(from position: Int) throws -> any Work
  /// Creates random point reads by row number through one snapshot, with several reads in each call
  /// if the engine supports that.
  func integerReadsTogether() throws -> any Work
  /// Creates random point reads by code through one snapshot.
  func stringReads() throws -> any Work
  /// Creates full scans, in the order of the row numbers, through one snapshot.
  func scans() throws -> any Work
  /// Creates point reads that each take and release a snapshot.
  func snapshotPerRead() throws -> any Work
  /// Creates transactions that each write one random row.
  func commits(_ durability: StoreOptions.Durability, seed: UInt64) throws -> any Work
  /// The number of checkpoints so far, or 0 if the engine does not run them in the background.
  var checkpointCount: Int { get }

  /// Writes the large value, in one transaction that need not be durable.
  func putLarge(_ value: [UInt8]) throws
  /// Pins the current state of the store for as long as the result is retained.
  func pin() throws -> AnyObject

  /// Checks that the store is intact, and closes it.
  func finish() throws
}

extension RowStore {
  var checkpointCount: Int { 0 }
}

/// The row that is written by commits.
///
/// The row is changed by ``next()`` before each commit.
struct ChangingRow {
  /// The bytes of the row to write.
  private(set) var bytes: [UInt8]
  private let rows: QuakeRows
  private var random: RandomNumbers

  init(_ rows: QuakeRows, seed: UInt64) {
    self.rows = rows
    bytes = rows.row(0)
    random = RandomNumbers(seed: seed)
  }

  /// Prepares a write to a random row with new coordinates, and returns the row's number.
  ///
  /// The number and the time of the row do not change, because point reads check these values or
  /// fold them into a hash.
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
  BenchFailure("Row \(number) was loaded, but a read did not find it.")
}
