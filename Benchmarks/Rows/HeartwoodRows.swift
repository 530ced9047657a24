import HeartwoodEngine

/// The names of the two keyspaces of a measured store.
enum KeyspaceName {
  /// The keyspace of quake rows, keyed by row number.
  static let quakes = "quakes"
  /// The keyspace of quake rows, keyed by their 16-byte codes.
  static let codes = "codes"
}

extension Snapshot {
  /// Returns the keyspace with this name, which the load must have created.
  func loaded(_ name: String) throws -> KeyspaceReader {
    guard let keyspace = try keyspace(name) else {
      throw BenchFailure("Keyspace \"\(name)\" was loaded, but the store does not contain it.")
    }
    return keyspace
  }
}

/// Heartwood with default options, used through its public API.
struct HeartwoodRows: RowEngine {
  let options: StoreOptions

  let name = Engine.heartwood
  let description = "Heartwood, default options"

  func makeStore(in directory: String, _ rows: QuakeRows) throws -> any RowStore {
    HeartwoodRowStore(try Store(at: directory, options: options), rows)
  }
}

/// A Heartwood store with the rows of a run.
final class HeartwoodRowStore: RowStore {
  let store: Store
  private let rows: QuakeRows

  init(_ store: Store, _ rows: QuakeRows) {
    self.store = store
    self.rows = rows
  }

  func loading() -> () throws -> Void {
    { [store, rows] in
      _ = try store.write(durability: .normal) { transaction in
        try transaction.keyspace(KeyspaceName.quakes).load { loader in
          let block = rows.block.span.bytes
          for number in 0..<Int64(rows.count) {
            try loader.append(number, block.extracting(rows.byteRange(number)))
          }
        }
      }
    }
  }

  func loadCodes() throws {
    let pairs = rows.sortedByCode()
    try store.write(durability: .normal) { transaction in
      try transaction.keyspace(KeyspaceName.codes).load(sorted: pairs)
    }
  }

  func put(_ range: Range<Int>, of block: [UInt8]) throws {
    try store.write(durability: .normal) { transaction in
      let quakes = try transaction.keyspace(KeyspaceName.quakes)
      let bytes = block.span.bytes
      for index in range {
        let start = index * QuakeRow.byteCount
        let row = bytes.extracting(start..<start + QuakeRow.byteCount)
        try quakes.put(rows.shuffledNumbers[index], row)
      }
    }
  }

  func checkpoint() throws { try store.checkpoint() }

  func integerReads(from position: Int) throws -> any Work {
    IntegerReads(try store.snapshot(), rows.shuffledNumbers, from: position)
  }

  func integerReadsTogether() throws -> any Work {
    IntegerReadsTogether(try store.snapshot(), rows.shuffledNumbers)
  }

  func stringReads() throws -> any Work {
    StringReads(try store.snapshot(), rows.shuffledCodes)
  }

  func scans() throws -> any Work { Scans(try store.snapshot(), rowCount: rows.count) }

  func snapshotPerRead() throws -> any Work { SnapshotPerRead(store, rows.shuffledNumbers) }

  func commits(_ durability: StoreOptions.Durability, seed: UInt64) -> any Work {
    Commits(store, durability, ChangingRow(rows, seed: seed))
  }

  var checkpointCount: Int { store.statistics.activity.checkpointCount }

  func putLarge(_ value: [UInt8]) throws {
    try store.write(durability: .normal) { try $0.keyspace("large").put(Int64(0), value) }
  }

  func pin() throws -> AnyObject { try store.snapshot() }

  func finish() throws {
    let findings = try store.verify().findings
    try store.close()
    guard findings.isEmpty else {
      throw BenchFailure("The store is damaged: \(findings.joined(separator: "; "))")
    }
  }
}
