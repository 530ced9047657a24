import Foundation

/// Reads a store's history as of one generation.
struct HistoryReader {
  private let snapshot: Snapshot
  private let model: StoreModel

  init(_ snapshot: Snapshot, _ model: StoreModel) {
    self.snapshot = snapshot
    self.model = model
  }

  /// Returns the transactions after a token, or all transactions if there is no token.
  ///
  /// - Throws: `historyExpired` if some of the transactions have been deleted, `foreignStore` if
  ///   the token belongs to another store, or `corrupt` if the history cannot be decoded.
  /// - Complexity: Each database page that contains entries of these transactions is read once.
  func transactions(
    after token: PersistentHistoryToken?
  ) throws -> [PersistentHistoryTransaction] {
    let known = token?.sequence(of: model.space.store)
    if token != nil, known == nil {
      throw StorageError(
        .foreignStore,
        "The token belongs to the history of another store. Use a token of this store.")
    }
    var cursor = try HistoryCursor(snapshot, after: known)
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

  /// Returns the number of the last transaction that was deleted from the history, or 0 if there is
  /// none.
  func start() throws -> Int64 {
    try snapshot.keyspace(HistoryFormat.keyspace)?
      .withValue(HistoryFormat.boundsKey) { try HistoryBounds($0).deleted } ?? 0
  }

  /// Returns the token of the newest transaction, or `nil` if no transaction has ever been
  /// recorded.
  func newestToken() throws -> PersistentHistoryToken? {
    let bounds = try snapshot.keyspace(HistoryFormat.keyspace)?
      .withValue(HistoryFormat.boundsKey) { try HistoryBounds($0) }
    return bounds.map { PersistentHistoryToken(store: model.space.store, sequence: $0.next - 1) }
  }

  private func transaction(
    _ found: HistoryCursor.Transaction, _ changes: [PersistentHistoryChange]
  ) -> PersistentHistoryTransaction {
    PersistentHistoryTransaction(
      token: PersistentHistoryToken(store: model.space.store, sequence: found.sequence),
      author: found.header.author, contextName: found.header.contextName,
      timestamp: Date(timeIntervalSinceReferenceDate: found.header.timestamp),
      processID: found.header.processID, changes: changes, base: found.header.base,
      store: model.space.store, sequence: found.sequence)
  }

  /// Converts a stored change, which identifies properties by number, to a public one, which
  /// identifies them by name.
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
      let named = tombstone.compactMap { property, text in
        storage.propertyName(property).map { ($0, text) }
      }
      kind = .delete(tombstone: Dictionary(named, uniquingKeysWith: { $1 }))
    }
    return PersistentHistoryChange(kind: kind, objectID: ManagedObjectID(number, model.space))
  }
}
