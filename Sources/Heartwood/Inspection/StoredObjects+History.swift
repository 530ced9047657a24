import Foundation

extension StoredObjects {
  /// A transaction in the history, with its number.
  package struct Transaction {
    package let number: Int64
    package let content: PersistentHistoryTransaction
  }

  /// Returns the transactions in this generation's history that follow the transaction with the
  /// given number, oldest first.
  ///
  /// If `number` is `nil`, all transactions in the history are returned.
  ///
  /// - Throws: `historyExpired` if some of the transactions have been deleted.
  package func history(after number: Int64?) throws -> [Transaction] {
    let token = number.map { container.historyToken(after: $0) }
    var merge = HistoryMerge(after: token)
    try merge.add(HistoryReader(snapshot, model), of: model)
    return merge.transactions().map { Transaction(number: $0.position.sequence, content: $0) }
  }

  /// Returns the number of the newest transaction that was deleted from the history, and the number
  /// of the newest transaction.
  ///
  /// Either number is 0 if there is no such transaction.
  package func historyBounds() throws -> (deleted: Int64, newest: Int64) {
    let reader = HistoryReader(snapshot, model)
    return (try reader.oldestPosition().sequence, try reader.newestPosition().sequence)
  }

  /// Returns the known versions of an object, oldest first.
  ///
  /// The versions are found in readable generations and in the history.
  package func versions(of id: ManagedObjectID) throws -> [ObjectVersion] {
    let own = QueryGenerationToken(generation: snapshot.token)
    let oldest = try container.store.liveGenerations().lazy.map(\.generation)
      .compactMap { try? self.container.store.snapshot(at: $0) }.first
    do {
      let first = oldest.map { QueryGenerationToken(generation: $0.token) } ?? own
      return try container.versions(of: id, from: first)
    } catch let error as ObjectGraphError where error.kind == .incompatibleSchema {
      // The model has changed since the oldest readable generation or since this one, so read only
      // this generation.
      return try container.versions(of: id, from: own, to: own)
    }
  }

  /// Returns the number of the generation that contains a version, or `nil` if no generation
  /// contains it.
  package func generationNumber(of version: ObjectVersion) -> UInt64? {
    version.generation?.generations.first?.generation.frame
  }

  /// Returns an object's values in a given version, keyed by name, or `nil` if they are unknown.
  package func values(of version: ObjectVersion, _ id: ManagedObjectID) -> [String: ObjectValue]? {
    guard let storage = model.storage(of: id.number), let values = version.values else {
      return nil
    }
    let named = storage.entity.columns.map { property in
      (property.name, ObjectValue(values[property.name] ?? .null, property, nil, model.space))
    }
    return Dictionary(named) { first, _ in first }
  }

  /// Returns the objects that differ between this generation and the generation of `other`.
  ///
  /// - Throws: `incompatibleSchema` if the model was changed between the two generations.
  package func changes(to other: StoredObjects) throws -> ChangeSet {
    guard model.changeCount == other.model.changeCount else {
      throw ObjectGraphError(
        .incompatibleSchema,
        "The store's model changed between \(snapshot.generation) and "
          + "\(other.snapshot.generation), so the objects of these generations cannot be compared. "
          + "Export both generations and compare the exports.")
    }
    return try container.changes(
      from: QueryGenerationToken(generation: snapshot.token),
      to: QueryGenerationToken(generation: other.snapshot.token))
  }
}

extension PersistentContainer {
  /// Returns the token for the position after a transaction in the container's only store.
  package func historyToken(after number: Int64) -> PersistentHistoryToken {
    PersistentHistoryToken(
      store: group.first.model.space.store, HistoryPosition(sequence: number))
  }

  /// Returns the number of the last transaction in the container's only store, or 0 if none exists.
  package func newestTransactionNumber() throws -> Int64 {
    try currentHistoryToken?.position(in: group.first.model.space.store)?.sequence ?? 0
  }
}
