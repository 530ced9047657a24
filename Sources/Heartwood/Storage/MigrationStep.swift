import Foundation

/// A step that migrates a store from one model to the next in one transaction.
///
/// A row is rewritten only if its values change. Otherwise, the row keeps its existing layout. The
/// step processes the rows of an entity in batches, so memory use does not depend on the number of
/// rows.
struct MigrationStep {
  let transaction: WriteTransaction
  /// The store's model before the step.
  let before: StoredModel
  /// The store's model after the step.
  let stored: StoredModel
  let model: StoreModel
  let progress: (@Sendable (MigrationProgress) -> Void)?

  /// Migrates the data in the store from the old model to the new one.
  ///
  /// - Throws: `incompatibleSchema` if the objects in the store do not fit the new model, for
  ///   example because they violate a new unique constraint.
  func run() throws {
    try removeEntities()
    try renameEntities()
    try RelationshipMigration(step: self).run()
    let derived = DerivedAttributeMigration(step: self)
    try derived.run()
    try IndexMigration(step: self, derived: derived).run()
    for name in before.relationshipKeyspaces.subtracting(stored.relationshipKeyspaces) {
      try transaction.removeKeyspace(name)
    }
  }

  /// Returns the entity as it was before the step, or `nil` if the entity is new.
  func known(_ storage: EntityStorage) -> StoredModel.StoredEntity? {
    before.entity(storage.number)
  }

  /// Returns the keyspace of an entity's records.
  func objects(_ storage: EntityStorage) throws -> RowsKeyspace {
    .transaction(try transaction.keyspace(storage.keyspace))
  }

  private func renameEntities() throws {
    var names: [String: String] = [:]
    for entity in before.entities {
      guard let new = stored.entity(entity.number)?.name, new != entity.name else { continue }
      names[entity.name] = new
    }
    if !names.isEmpty { try FeedRecords(transaction).rename(names) }
  }

  private func removeEntities() throws {
    let rows = try transaction.keyspace(StoredModel.rowsKeyspace)
    for entity in before.entities where stored.entity(entity.number) == nil {
      try RelationshipMigration(step: self).forget(entity)
      try transaction.removeKeyspace("objects.\(entity.number)")
      try rows.delete(entity.number)
    }
  }
}
