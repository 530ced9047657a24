import Foundation

/// A step of a store from one model to the next, in the transaction that makes it.
///
/// Rows stay as they are wherever that is possible: a layout says how they were written. What has
/// to be done is done for the rows of an entity one after the other, some at a time, so that the
/// memory it takes does not depend on how many there are.
struct ModelStep {
  let transaction: WriteTransaction
  /// The model the store had.
  let before: StoredModel
  /// The model it is to have.
  let stored: StoredModel
  let model: StoreModel
  let progress: (@Sendable (MigrationProgress) -> Void)?

  /// Does what the difference asks for.
  ///
  /// - Throws: `incompatibleSchema` if the store's objects do not allow it.
  func run() throws {
    try removeEntities()
    try RelationshipBuilding(step: self).run()
    let derived = DerivedBuilding(step: self)
    try derived.run()
    try IndexBuilding(step: self, derived: derived).run()
    for name in before.places.subtracting(stored.places) { try transaction.removeKeyspace(name) }
  }

  /// What the store had of an entity; `nil` if it is new.
  func known(_ storage: EntityStorage) -> StoredModel.StoredEntity? {
    before.entity(storage.number)
  }

  /// The records of an entity.
  func objects(_ storage: EntityStorage) throws -> RowsKeyspace {
    .transaction(try transaction.keyspace(storage.keyspace))
  }

  private func removeEntities() throws {
    let rows = try transaction.keyspace(StoredModel.rowsKeyspace)
    for entity in before.entities where stored.entity(entity.number) == nil {
      try RelationshipBuilding(step: self).forget(entity)
      try transaction.removeKeyspace("objects.\(entity.number)")
      try rows.delete(entity.number)
    }
  }
}
