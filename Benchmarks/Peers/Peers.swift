/// The names of the engines in tables and in JSON.
enum Engine {
  static let heartwood = "heartwood"
  static let sqlite = "sqlite"
  static let lmdb = "lmdb"
  static let rocksdb = "rocksdb"
  /// The engines with which `--peers` compares Heartwood, in the order of their columns.
  static let peers = [lmdb, sqlite, rocksdb]
  static let peerNames = peers.joined(separator: ", ")
  static let all = [heartwood] + peers

  /// Returns the display name of an engine.
  static func title(_ engine: String) -> String {
    switch engine {
    case sqlite: "SQLite"
    case lmdb: "LMDB"
    case rocksdb: "RocksDB"
    default: "Heartwood"
    }
  }
}

/// The installed engines with which Heartwood is compared.
struct Peers {
  private(set) var rowEngines: [any RowEngine] = []
  private(set) var entryEngines: [any EntryEngine] = []
  private(set) var graphEngines: [any GraphEngine] = []
  private(set) var orderEngines: [any OrderEngine] = []
  private(set) var textEngines: [any TextEngine] = []
  /// One sentence for each peer that is not installed.
  private(set) var missing: [String] = []

  /// Loads the libraries if `wanted` is true.
  ///
  /// If `wanted` is false, there are no peers, and none is reported as missing.
  ///
  /// - Parameter readsAhead: Whether to read ahead, which is worthwhile if the entries fit in
  ///   memory.
  init(wanted: Bool, readsAhead: Bool) throws {
    guard wanted else { return }
    if let library = try LMDBLibrary() {
      rowEngines.append(LMDBRows(library: library))
      entryEngines.append(LMDBEntries(library: library, readsAhead: readsAhead))
    } else {
      miss(LMDBLibrary.fileName, "liblmdb0")
    }
    if let library = try SQLiteLibrary() {
      rowEngines.append(SQLiteRows(library: library))
      entryEngines.append(SQLiteEntries(library: library, readsAhead: readsAhead))
      graphEngines.append(SQLiteGraph(library: library))
      orderEngines.append(SQLiteGraph(library: library))
      textEngines.append(SQLiteGraph(library: library))
    } else {
      miss(SQLiteLibrary.fileName, "libsqlite3-0")
    }
    if let library = try RocksDBLibrary() {
      rowEngines.append(RocksDBRows(library: library))
      entryEngines.append(RocksDBRows(library: library))
    } else {
      miss(RocksDBLibrary.fileNames[0], "librocksdb7.8")
    }
  }

  private mutating func miss(_ fileName: String, _ package: String) {
    missing.append(
      "\(fileName) is not installed, so its column is empty and there is no ratio. Install it "
        + "(Debian: apt install \(package)).")
  }
}
