import HeartwoodEngine

/// LMDB as a row engine.
///
/// Row numbers are stored as integer keys, and loads in key order use LMDB's append mode. Commits
/// are not synced in workloads where Heartwood uses `.normal` durability.
struct LMDBRows: RowEngine {
  let library: LMDBLibrary

  let name = Engine.lmdb
  var description: String {
    "LMDB \(library.version), integer keys, NOSYNC and WRITEMAP where Heartwood uses .normal, "
      + "APPEND for ascending keys, read transactions renewed"
  }

  func makeStore(in directory: String, _ rows: QuakeRows) throws -> any RowStore {
    try StoreDirectory.make(directory)
    return LMDBRowStore(try LMDBEnvironment(library, directory: directory), rows)
  }
}

private final class LMDBRowStore: RowStore {
  private let environment: LMDBEnvironment
  private let rows: QuakeRows

  init(_ environment: LMDBEnvironment, _ rows: QuakeRows) {
    self.environment = environment
    self.rows = rows
  }

  func loading() -> () throws -> Void {
    { [environment, rows] in
      try environment.write(isDurable: false) { transaction in
        let block = rows.block.span
        for number in 0..<Int64(rows.count) {
          try environment.library.put(
            number, block.extracting(rows.byteRange(number)), environment.quakes, transaction,
            flags: LMDBLibrary.append)
        }
      }
    }
  }

  func loadCodes() throws {
    try environment.write(isDurable: false) { [rows] transaction in
      let block = rows.block.span
      for key in rows.sortedCodes() {
        try environment.library.put(
          key.code, block.extracting(rows.byteRange(key.number)), environment.codes, transaction,
          flags: LMDBLibrary.append)
      }
    }
  }

  func put(_ range: Range<Int>, of block: [UInt8]) throws {
    try environment.write(isDurable: false) { transaction in
      let bytes = block.span
      for index in range {
        let start = index * QuakeRow.byteCount
        let row = bytes.extracting(start..<start + QuakeRow.byteCount)
        try environment.library.put(
          rows.shuffledNumbers[index], row, environment.quakes, transaction)
      }
    }
  }

  /// Does nothing, because LMDB has no log.
  ///
  /// LMDB's commits write pages to their final location.
  func checkpoint() {}

  func integerReads(from position: Int) throws -> any Work {
    LMDBIntegerReads(try environment.reader(), rows.shuffledNumbers, from: position)
  }

  func integerReadsTogether() throws -> any Work { try integerReads(from: 0) }

  func stringReads() throws -> any Work {
    LMDBStringReads(try environment.reader(), rows.shuffledCodes)
  }

  func scans() throws -> any Work {
    LMDBScans(reader: try environment.reader(), operationsPerTurn: rows.count)
  }

  func snapshotPerRead() throws -> any Work {
    LMDBSnapshotPerRead(try environment.reader(), rows.shuffledNumbers)
  }

  func commits(_ durability: StoreOptions.Durability, seed: UInt64) throws -> any Work {
    try environment.prepare(isDurable: durability == .full)
    return LMDBCommits(environment, durability, ChangingRow(rows, seed: seed))
  }

  func putLarge(_ value: [UInt8]) throws {
    try environment.write(isDurable: false) { transaction in
      try environment.library.put(
        "value", value.span, environment.large, transaction, flags: 0)
    }
  }

  func pin() throws -> AnyObject { try environment.reader() }

  /// Does nothing, because LMDB has no integrity check, and every read result has already been
  /// checked during the measurement.
  func finish() {}
}
