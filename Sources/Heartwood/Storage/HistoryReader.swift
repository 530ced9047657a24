import Foundation

/// A reader that returns a store's history as of one generation.
struct HistoryReader {
  private let snapshot: Snapshot
  private let model: StoreModel

  init(_ snapshot: Snapshot, _ model: StoreModel) {
    self.snapshot = snapshot
    self.model = model
  }

  /// Returns the transactions after a position, or all transactions if the position is `nil`.
  ///
  /// - Throws: `historyExpired` if the position or a later transaction is no longer in the history,
  ///   or `corrupt` if the history cannot be decoded.
  /// - Complexity: Each database page that contains entries of these transactions is read once.
  func transactions(after position: HistoryPosition?) throws -> [PersistentHistoryTransaction] {
    var cursor = try HistoryCursor(snapshot, after: position)
    var result: [PersistentHistoryTransaction] = []
    var changes: [PersistentHistoryChange] = []
    while let next = try cursor.nextChange() {
      if let change = change(next.number, next.change) { changes.append(change) }
      guard next.isLast else { continue }
      result.append(transaction(next.transaction, changes))
      changes = []
    }
    return result
  }

  /// Returns the position directly before the oldest transaction that is still in the history.
  func oldestPosition() throws -> HistoryPosition { try position(\.deleted) }

  /// Returns the position after the newest transaction.
  ///
  /// If no transaction has been recorded yet, the position's number is 0. If a transaction after
  /// the returned position is deleted, later reads from the position throw `historyExpired`.
  func newestPosition() throws -> HistoryPosition { try position { $0.next - 1 } }

  /// Returns the position after the transaction with the given number.
  func position(after sequence: Int64) throws -> HistoryPosition { try position { _ in sequence } }

  private func position(_ sequence: (HistoryBounds) -> Int64) throws -> HistoryPosition {
    guard let keyspace = try snapshot.keyspace(HistoryFormat.keyspace) else {
      return HistoryPosition(sequence: sequence(HistoryBounds()))
    }
    let rows = RowsKeyspace.snapshot(keyspace)
    let bounds =
      try rows.withValue(HistoryFormat.boundsKey) { try HistoryBounds($0) } ?? HistoryBounds()
    return try HistoryPosition(after: sequence(bounds), bounds, in: rows)
  }

  private func transaction(
    _ found: HistoryCursor.Transaction, _ changes: [PersistentHistoryChange]
  ) -> PersistentHistoryTransaction {
    PersistentHistoryTransaction(
      token: PersistentHistoryToken(store: model.space.store, found.position),
      author: found.header.author, contextName: found.header.contextName,
      timestamp: Date(timeIntervalSinceReferenceDate: found.header.timestamp),
      processID: found.header.processID, changes: changes, base: found.header.base,
      store: model.space.store, position: found.position)
  }

  /// Converts a stored change into a public change, which identifies properties by name instead of
  /// by number.
  ///
  /// Returns `nil` if the model has no class for the object.
  private func change(
    _ number: ObjectNumber, _ change: HistoryFormat.Change
  ) -> PersistentHistoryChange? {
    guard let storage = model.storage(of: number) else { return nil }
    let kind: PersistentHistoryChange.Kind
    switch change {
    case .insert: kind = .insert
    case .update(let properties):
      kind = .update(properties: Set(properties.compactMap { storage.propertyName($0) }))
    case .delete(let tombstone):
      var named: [String: String] = [:]
      for (property, text) in tombstone {
        if let name = storage.propertyName(property) { named[name] = text }
      }
      kind = .delete(tombstone: named)
    }
    return PersistentHistoryChange(kind: kind, objectID: ManagedObjectID(number, model.space))
  }
}
