import HeartwoodEngine

/// The two keyspaces of a measured store.
enum KeyspaceName {
  /// Quake rows by row number.
  static let quakes = "quakes"
  /// The same rows by their 16-byte code.
  static let codes = "codes"
}

extension Snapshot {
  /// The keyspace of this name, which the load must have made.
  func loaded(_ name: String) throws -> KeyspaceReader {
    guard let keyspace = try keyspace(name) else {
      throw BenchFailure("The store has no keyspace \(name) although it was loaded.")
    }
    return keyspace
  }
}
