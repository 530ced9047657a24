import Foundation

/// A repair that makes the objects in a salvaged store consistent after rows or entries have been
/// lost.
///
/// Everything that can be derived from the rows is recomputed: indexes, unique constraints and the
/// members of to-many relationships. References to lost rows become `nil`, regardless of the delete
/// rule. Derived attributes are recomputed when a program next opens the store with its own
/// classes.
package final class ObjectRepair {
  /// The changes made to objects by the repair.
  ///
  /// Losses listed in the salvage report are not included.
  package struct Summary: Sendable {
    /// The names of the entities, keyed by the keyspaces of their rows.
    package var entities: [String: String] = [:]
    /// The number of references to lost objects that became `nil`.
    package var clearedReferenceCount = 0
    /// The number of list members that were removed because the member or the list's owner is lost.
    package var removedMemberCount = 0
    /// The number of members that were restored from the inverse relationships.
    package var restoredMemberCount = 0
    /// The number of rows that were removed because they could not be decoded, or because they had
    /// the same unique values as a newer row.
    package var removedRowCount = 0
  }

  let store: Store
  let stored: StoredModel
  let model: StoreModel
  /// The stored model without the derivations and indexes that only a program can rebuild.
  var rebuildable: StoredModel
  var summary = Summary()
  var notes: [String] = []

  private init(_ store: Store, _ stored: StoredModel, _ model: StoreModel) {
    self.store = store
    self.stored = stored
    self.model = model
    rebuildable = stored
  }

  /// Repairs the objects in a store that has just been filled with salvaged data, and completes the
  /// report.
  ///
  /// - Returns: A summary, or `nil` if the store has no model or the objects could not be repaired.
  /// - Throws: Any error from writing the store. Damage to objects is described in the report's
  ///   notes instead.
  package static func run(
    _ store: Store, _ report: inout SalvageReport
  ) throws -> Summary? {
    do {
      return try repair(store, &report)
    } catch let error as StorageError where error.kind == .corrupt {
      report.hasInconsistentObjects = true
      report.notes.append("The objects could not be repaired: \(error)")
    } catch let error as ObjectGraphError {
      report.hasInconsistentObjects = true
      report.notes.append("The objects could not be repaired: \(error.message)")
    }
    return nil
  }

  private static func repair(
    _ store: Store, _ report: inout SalvageReport
  ) throws -> Summary? {
    var lost = LostKeyspaces(store, report)
    try lost.findModel()
    guard let stored = try model(in: store, &lost.report) else {
      report = lost.report
      return nil
    }
    let declarations = try declarations(in: store)
    let schema = try StoredSchema.schema(of: stored, declarations ?? StoredDeclarations())
    let model = try StoreModel(
      schema.content, stored, store: UUID(), changeCount: 0, tracksHistory: false)
    try lost.findOthers(stored, model)
    report = lost.report
    let repair = ObjectRepair(store, stored, model)
    for storage in model.entities {
      repair.summary.entities[storage.keyspace] = storage.entity.name
    }
    guard !report.isComplete else { return repair.summary }
    if declarations == nil {
      repair.notes.append(
        "The entity declarations are lost. The next program that opens the store with the "
          + "entity classes will write them again.")
    }
    try repair.run(&report)
    report.notes += repair.notes
    return repair.summary
  }

  private func run(_ report: inout SalvageReport) throws {
    for storage in model.entities { try removeUnreadableRows(storage) }
    try removeDuplicates()
    for storage in model.entities { try clearReferences(storage) }
    try rebuildEdges()
    try repairLists()
    try rebuildIndexes()
    try repairRowIDs()
    try repairHistory(report)
    forgetDerivedAttributes()
    if rebuildable != stored {
      try store.write { transaction in
        try transaction.keyspace(StoredModel.keyspace).put(StoredModel.key, rebuildable.encoded())
      }
    }
    let rebuilt = Set(stored.entities.flatMap(\.indexes))
      .union(stored.relationshipKeyspaces.filter { $0.hasPrefix("edges.") })
      .union([StoredModel.rowsKeyspace])
    for index in report.keyspaces.indices
    where rebuilt.contains(report.keyspaces[index].name) {
      report.keyspaces[index].isRebuilt = true
    }
  }

  // MARK: The model

  /// Reads the store's model, or returns `nil` if there is none.
  ///
  /// Without the model, the entities of the rows are unknown. The method then renames the keyspaces
  /// of the object graph, so that a program that opens the store does not mistake their entries for
  /// data of another model.
  private static func model(
    in store: Store, _ report: inout SalvageReport
  ) throws -> StoredModel? {
    let bytes = try store.snapshot().keyspace(StoredModel.keyspace)?
      .withValue(Key(StoredModel.key)) { $0.copy }
    if let bytes {
      let model = try StoredModel.decoded(bytes)
      try restoreIdentity(in: store, &report)
      return model
    }
    var names: [String: String] = [:]
    for keyspace in report.keyspaces {
      guard
        ["objects.", "index.", "unique.", "text.", "edges.", "lists.", "orders.", "heartwood."]
          .contains(where: { keyspace.name.hasPrefix($0) })
      else { continue }
      names[keyspace.name] = "lost.\(keyspace.name)"
    }
    guard names.keys.contains(where: { $0.hasPrefix("heartwood.") }) else { return nil }
    try store.write { transaction in
      for (name, new) in names { try transaction.renameKeyspace(name, to: new) }
    }
    for index in report.keyspaces.indices {
      guard let new = names[report.keyspaces[index].name] else { continue }
      report.keyspaces[index].name = new
      report.keyspaces[index].hasLostName = true
    }
    report.notes.append(
      "The object model is lost. The rows were saved in keyspaces whose names begin with "
        + "\"lost.objects\".")
    return nil
  }

  /// Gives the store a new identity if the original identity is lost.
  private static func restoreIdentity(
    in store: Store, _ report: inout SalvageReport
  ) throws {
    let keyspace = try store.snapshot().keyspace(StoredModel.keyspace)
    let known = try keyspace?.withValue(StoredState.identityKey) {
      UUID(uuidString: String(decoding: $0.copy, as: UTF8.self)) != nil
    }
    guard known != true else { return }
    try store.write { transaction in
      try transaction.keyspace(StoredModel.keyspace)
        .put(StoredState.identityKey, Array(UUID().uuidString.utf8))
    }
    report.notes.append(
      "The identifier that the store uses in object URIs is lost, so existing URIs are no longer "
        + "valid.")
  }

  private static func declarations(in store: Store) throws -> StoredDeclarations? {
    let keyspace = try store.snapshot().keyspace(StoredModel.keyspace)
    return try StoredDeclarations.read(keyspace.map { .snapshot($0) })
  }

  /// Removes the derivations from the stored model.
  ///
  /// All derived attributes are then recomputed when a program next opens the store with its own
  /// classes.
  private func forgetDerivedAttributes() {
    guard stored.entities.contains(where: { $0.derived != nil }) else { return }
    for index in rebuildable.entities.indices { rebuildable.entities[index].derived = nil }
    notes.append(
      "Derived attributes are recomputed when a program first opens the store for writing.")
  }
}
