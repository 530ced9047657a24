/// The keyspace that records each consumer's progress through the history.
///
/// The keyspace maps each consumer's name to the number of the last transaction processed by that
/// consumer.
enum HistoryConsumers {
  static let keyspace = "heartwood.consumers"

  /// Returns the number of each consumer's last processed transaction, keyed by consumer name.
  static func all(in snapshot: Snapshot) throws -> [String: Int64] {
    guard let keyspace = try snapshot.keyspace(keyspace) else { return [:] }
    return try all(.snapshot(keyspace))
  }

  /// Returns the number of each consumer's last processed transaction, keyed by consumer name.
  static func all(in transaction: WriteTransaction) throws -> [String: Int64] {
    try all(.transaction(try transaction.keyspace(keyspace)))
  }

  private static func all(_ keyspace: RowsKeyspace) throws -> [String: Int64] {
    var result: [String: Int64] = [:]
    try keyspace.forEach { key, value in
      result[try Key.decode(key, as: String.self)] = try value.number()
      return true
    }
    return result
  }

  /// Records that the consumer `name` has processed all transactions up to and including
  /// transaction `sequence`.
  static func put(_ sequence: Int64, for name: String, _ transaction: WriteTransaction) throws {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: sequence)
    try transaction.keyspace(keyspace).put(name, bytes)
  }
}
