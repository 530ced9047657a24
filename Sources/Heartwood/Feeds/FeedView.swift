import Foundation

/// The objects of a store in one generation, as they appear in a feed's events.
final class FeedView {
  let snapshot: Snapshot
  private let view: StoreView
  private let model: StoreModel
  private let entities: [FeedEntity]

  /// Creates a view of the objects in a snapshot.
  ///
  /// - Throws: `incompatibleSchema` if the store's model has changed.
  init(_ snapshot: Snapshot, _ model: StoreModel, _ entities: [FeedEntity]) throws {
    self.snapshot = snapshot
    self.model = model
    self.entities = entities
    view = try StoreView(snapshot, model)
  }

  /// Returns the entity of an object, or `nil` if the model has no class for the object.
  func entity(of number: ObjectNumber) -> FeedEntity? {
    model.storage(of: number).map { entities[$0.entity.position] }
  }

  /// Returns the values of a row, indexed by slot, or `nil` if the row does not exist.
  func row(_ number: ObjectNumber, _ entity: FeedEntity) throws -> [StoredValue]? {
    try view.withRecord(number, entity.storage) { try entity.storage.values($0) }
  }

  /// Calls `body` with an entity's rows in ascending order of row ID, until `body` returns `false`.
  ///
  /// The method begins after the row with the ID `last`.
  func forEachRow(
    of entity: FeedEntity, after last: Int64,
    _ body: (ObjectNumber, [StoredValue]) throws -> Bool
  ) throws {
    let storage = entity.storage
    try view.objects(storage)?.forEach(from: Key(last + 1)) { key, value in
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyComponent())
      return try body(number, try value.withRecord(storage.layouts) { try storage.values($0) })
    }
  }

  /// Returns the values of an object.
  ///
  /// - Parameters:
  ///   - row: The values of the object's row, indexed by slot.
  ///   - changed: The names of the to-many relationships to include, or `nil` to include all of
  ///     them.
  func values(
    of number: ObjectNumber, _ entity: FeedEntity, _ row: [StoredValue], _ changed: Set<String>?
  ) throws -> ChangeFeed.Values {
    let references = try entity.references.map { field in
      try row[field.description.slot].reference.flatMap { try reference(to: $0) }
    }
    var lists: [(property: FeedEntity.Property, members: [Reference])] = []
    for (field, keyspace) in entity.lists
    where changed?.contains(field.description.name) ?? true {
      let members = try view.numbers(in: keyspace, [.integer(number.bits)])
      lists.append((field, try members.compactMap { try reference(to: $0) }))
    }
    return ChangeFeed.Values(
      entity: entity, attributes: entity.attributes.map { row[$0.description.slot] },
      references: references, lists: lists)
  }

  /// Returns a reference to an object, or `nil` if the object does not exist.
  ///
  /// A relationship without an inverse keeps referring to a deleted object. A copy that received
  /// this reference would wait for the object's values, which would never arrive.
  private func reference(to number: ObjectNumber) throws -> Reference? {
    try entity(of: number).flatMap { entity in
      try view.withRecord(number, entity.storage) { record in
        let key = try entity.key.map { property in
          ChangeFeed.Key(property: property, value: try entity.storage.value(property.slot, record))
        }
        return Reference(
          id: ManagedObjectID(number, model.space), key: key.flatMap { $0.value.isNull ? nil : $0 })
      }
    }
  }
}
