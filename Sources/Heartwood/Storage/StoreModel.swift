import Foundation

/// A schema and a store, brought together: which object is where.
final class StoreModel: Sendable {
  let schema: Schema.Content
  /// By the position of the entity in the schema.
  let entities: [EntityStorage]
  let space: ManagedObjectID.Space
  private let positionsByNumber: [Int: Int]

  init(_ schema: Schema.Content, _ stored: StoredModel, store: UUID) throws {
    self.schema = schema
    let byName = Dictionary(uniqueKeysWithValues: stored.entities.map { ($0.name, $0) })
    entities = try schema.entities.map { entity in
      guard let found = byName[entity.name] else {
        throw ObjectGraphError(.incompatibleSchema, "The store has no entity \(entity.name).")
      }
      return EntityStorage(entity, found)
    }
    positionsByNumber = Dictionary(
      uniqueKeysWithValues: entities.enumerated().map { ($1.number, $0) })
    space = ManagedObjectID.Space(
      store: store,
      entityNames: Dictionary(
        uniqueKeysWithValues: stored.entities.map { ($0.number, $0.name) }))
  }

  /// Where the objects of an entity are.
  func storage(of entity: EntityDescription) -> EntityStorage { entities[entity.position] }

  /// Where an object is; `nil` if the schema has no class for it.
  func storage(of number: ObjectNumber) -> EntityStorage? {
    positionsByNumber[number.entity].map { entities[$0] }
  }

  /// The keyspace of an index.
  func keyspace(_ index: IndexDescription) -> String {
    storage(of: index.entity).keyspace(of: index)
  }

  /// The keyspace that tells who refers to an object by a to-one relationship, or who is in a
  /// to-many relationship.
  func keyspace(_ relationship: PropertyDescription, of entity: EntityDescription) -> String {
    let declaring = entity.declaring(relationship)
    let storage = storage(of: declaring)
    return "edges.\(storage.number).\(storage.propertyNumbers[relationship.slot] ?? 0)"
  }
}

extension EntityDescription {
  /// The entity that declares a property, which this one may inherit.
  func declaring(_ property: PropertyDescription) -> EntityDescription {
    var entity = self
    while let above = entity.superentity, property.slot < above.properties.count { entity = above }
    return entity
  }
}
