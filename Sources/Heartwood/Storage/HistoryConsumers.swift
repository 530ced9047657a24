/// Who reads the history, and how far each has come.
///
/// The keyspace has their names as keys, and the number of the last transaction that each has read
/// as values.
enum HistoryConsumers {
  static let keyspace = "heartwood.consumers"

  /// The transactions that the consumers have come to, by name.
  static func all(in snapshot: Snapshot) throws -> [String: Int64] {
    guard let keyspace = try snapshot.keyspace(keyspace) else { return [:] }
    return try all(.snapshot(keyspace))
  }

  /// The transactions that the consumers have come to, by name.
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

  /// Takes down how far a consumer has come.
  static func put(_ sequence: Int64, for name: String, _ transaction: WriteTransaction) throws {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: sequence)
    try transaction.keyspace(keyspace).put(name, bytes)
  }
}
