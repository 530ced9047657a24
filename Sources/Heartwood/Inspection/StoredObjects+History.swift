import Foundation

extension StoredObjects {
  /// A transaction of the history, with its number.
  package struct Transaction {
    package let number: Int64
    package let content: PersistentHistoryTransaction
  }

  /// Returns the transactions of the history after the one with a number, oldest first.
  ///
  /// The history is that of the store's newest generation.
  ///
  /// - Throws: `historyExpired` if some of the transactions have been deleted.
  package func history(after number: Int64?) throws -> [Transaction] {
    let token = number.map { PersistentHistoryToken(store: model.space.store, sequence: $0) }
    return try container.fetchHistory(after: token).map {
      Transaction(number: $0.sequence, content: $0)
    }
  }

  /// The number of the newest transaction, or 0 if none has ever been recorded.
  package func newestTransactionNumber() throws -> Int64 {
    try container.currentHistoryToken?.sequence(of: model.space.store) ?? 0
  }

  /// Returns the versions of an object that are known from readable generations and the history,
  /// oldest first.
  package func versions(of id: ManagedObjectID) throws -> [ObjectVersion] {
    let oldest = try container.store.liveGenerations().lazy.map(\.generation)
      .compactMap { try? self.container.store.snapshot(at: $0) }.first
    return try container.versions(
      of: id, from: QueryGenerationToken(generation: (oldest ?? snapshot).token))
  }

  /// Returns the values of a version of an object, by name, or `nil` if they are unknown.
  package func values(of version: ObjectVersion, _ id: ManagedObjectID) -> [String: ObjectValue]? {
    guard let storage = model.storage(of: id.number), let values = version.values else {
      return nil
    }
    let named = storage.entity.columns.map { property in
      (property.name, ObjectValue(values[property.name] ?? .null, property, nil, model.space))
    }
    return Dictionary(named) { first, _ in first }
  }

  /// Returns the objects that differ between this generation and that of `other`.
  package func changes(to other: StoredObjects) throws -> ChangeSet {
    try container.changes(
      from: QueryGenerationToken(generation: snapshot.token),
      to: QueryGenerationToken(generation: other.snapshot.token))
  }
}
