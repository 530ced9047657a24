/// What engines are called in tables and in JSON.
enum Engine {
  static let heartwood = "heartwood"
  static let sqlite = "sqlite"
  static let lmdb = "lmdb"
  /// Those that `--peers` compares Heartwood with, in the order of their columns.
  static let peers = [lmdb, sqlite]
  static let peerNames = peers.joined(separator: ", ")
  static let all = [heartwood] + peers

  /// What it is called among people.
  static func title(_ engine: String) -> String {
    switch engine {
    case sqlite: "SQLite"
    case lmdb: "LMDB"
    default: "Heartwood"
    }
  }
}

/// The libraries of this machine that Heartwood is compared with.
struct Peers {
  private(set) var rowEngines: [any RowEngine] = []
  private(set) var graphEngines: [any GraphEngine] = []
  /// A sentence for each peer that is not here.
  private(set) var missing: [String] = []

  /// Looks for the libraries; without `wanted` there are no peers and none is missed.
  init(wanted: Bool) throws {
    guard wanted else { return }
    if let library = try LMDBLibrary() {
      rowEngines.append(LMDBRows(library: library))
    } else {
      miss(LMDBLibrary.fileName, "liblmdb0")
    }
    if let library = try SQLiteLibrary() {
      rowEngines.append(SQLiteRows(library: library))
      graphEngines.append(SQLiteGraph(library: library))
    } else {
      miss(SQLiteLibrary.fileName, "libsqlite3-0")
    }
  }

  private mutating func miss(_ fileName: String, _ package: String) {
    missing.append(
      "\(fileName) is not on this machine, so its column is empty and there is no ratio: install "
        + "it (Debian: apt install \(package)).")
  }
}
