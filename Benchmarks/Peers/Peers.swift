/// What engines are called in tables and in JSON.
enum Engine {
  static let heartwood = "heartwood"
  static let sqlite = "sqlite"
  /// Those that `--peers` compares Heartwood with, in the order of their columns.
  static let peers = [sqlite]
  static let peerNames = peers.joined(separator: ", ")
}

/// The libraries of this machine that Heartwood is compared with.
struct Peers {
  let graphEngines: [any GraphEngine]
  /// A sentence for each peer that is not here.
  let missing: [String]

  /// Looks for the libraries; without `wanted` there are no peers and none is missed.
  init(wanted: Bool) throws {
    guard wanted else { (graphEngines, missing) = ([], []); return }
    if let library = try SQLiteLibrary() {
      (graphEngines, missing) = ([SQLiteGraph(library: library)], [])
    } else {
      graphEngines = []
      missing = [
        "\(SQLiteLibrary.fileName) is not on this machine, so its column is empty and there is no "
          + "ratio: install it (Debian: apt install libsqlite3-0)."
      ]
    }
  }
}
