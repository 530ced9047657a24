public import Foundation

extension PersistentContainer {
  /// What was changed after a token, one entry for each save and batch request of any process.
  ///
  /// - Parameter token: Where to go on; `nil` for everything there is.
  /// - Throws: `historyExpired` if some of it was deleted; `foreignStore` for a token of another
  ///   store; `corrupt` or `io`.
  /// - Complexity: Each page of the entries is read once.
  public func fetchHistory(
    after token: PersistentHistoryToken?
  ) throws -> [PersistentHistoryTransaction] {
    try HistoryReader(try store.snapshot(), model).transactions(after: token)
  }

  /// What was changed after a date, by the clocks of those who changed it.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Each page of the history is read once.
  public func fetchHistory(after date: Date) throws -> [PersistentHistoryTransaction] {
    try fetchHistory(after: nil as PersistentHistoryToken?).filter { $0.timestamp > date }
  }

  /// Deletes the history up to a token, but not what follows it.
  ///
  /// A token before that expires; the one given does not.
  ///
  /// - Throws: `foreignStore` for a token of another store; what kept the store from being written.
  /// - Complexity: One row deleted for each entry; one sync.
  public func deleteHistory(before token: PersistentHistoryToken) throws {
    guard token.store == model.space.store else {
      throw StorageError(.foreignStore, "The token is of the history of another store.")
    }
    try store.write { transaction in
      let keyspace = try transaction.keyspace(HistoryFormat.keyspace)
      guard
        var bounds = try keyspace.withValue(HistoryFormat.boundsKey, { try HistoryBounds($0) }),
        token.sequence > bounds.deleted
      else { return }
      var keys: [Key] = []
      let end = min(token.sequence, bounds.next - 1)
      try keyspace.forEach(from: Key(bounds.deleted + 1), upTo: Key(end + 1)) { key, _ in
        let (sequence, piece) = try Key.decode(key, as: Int64.self, Int64.self)
        keys.append(Key(sequence, piece))
        return true
      }
      for key in keys { try keyspace.delete(key) }
      bounds.deleted = end
      try keyspace.put(HistoryFormat.boundsKey, bounds.encoded)
    }
  }
}
