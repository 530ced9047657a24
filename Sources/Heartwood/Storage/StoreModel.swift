import Foundation

/// A schema and a store, brought together: which object is where.
///
/// What is asked for each row is worked out once, when the model is made.
final class StoreModel: Sendable {
  let schema: Schema.Content
  /// By the position of the entity in the schema.
  let entities: [EntityStorage]
  let space: ManagedObjectID.Space
  /// Whether what is changed is written into the history.
  let tracksHistory: Bool
  /// Whether any entity has attributes that are unique.
  let hasUniques: Bool
  /// What contexts have read lately.
  let recentViews = RecentViews()
  private let positionsByNumber: [Int: Int]
  /// The keyspaces of relationships by entity and slot; `nil` for other properties.
  private let edges: [[String?]]
  private let references: [[(slot: Int, keyspace: String)]]
  private let lists: [[(own: String, other: String?)]]

  init(
    _ schema: Schema.Content, _ stored: StoredModel, store: UUID, tracksHistory: Bool = false
  ) throws {
    // The store's own bytes: what is named twice is damage, and no reason to trap.
    guard Set(stored.entities.map(\.name)).count == stored.entities.count,
      Set(stored.entities.map(\.number)).count == stored.entities.count
    else { throw StorageError(.corrupt, "The store's model names an entity twice.") }
    self.schema = schema
    self.tracksHistory = tracksHistory
    hasUniques = schema.entities.contains { $0.indexes.contains(where: \.isUnique) }
    let byName = Dictionary(uniqueKeysWithValues: stored.entities.map { ($0.name, $0) })
    let entities = try schema.entities.map { entity in
      guard let found = byName[entity.name] else {
        throw ObjectGraphError(.incompatibleSchema, "The store has no entity \(entity.name).")
      }
      return try EntityStorage(entity, found)
    }
    self.entities = entities
    positionsByNumber = Dictionary(
      uniqueKeysWithValues: entities.enumerated().map { ($1.number, $0) })
    space = ManagedObjectID.Space(
      store: store,
      entityNames: Dictionary(
        uniqueKeysWithValues: stored.entities.map { ($0.number, $0.name) }))
    let edges = entities.map { storage in
      storage.entity.properties.map { property -> String? in
        guard property.isRelationship else { return nil }
        let declaring = entities[storage.entity.declaring(property).position]
        return "edges.\(declaring.number).\(declaring.propertyNumbers[property.slot] ?? 0)"
      }
    }
    self.edges = edges
    references = entities.map { storage in
      storage.entity.relationships.filter { storage.entity.isMemberReference($0) }.compactMap {
        property in
        edges[storage.entity.position][property.slot].map { (property.slot, $0) }
      }
    }
    lists = entities.map { storage in
      storage.entity.relationships.filter { storage.entity.listsMembers($0) }
        .compactMap { property in
          // Who says so goes on referring to what was deleted.
          let other =
            property.options.deleteRule == .noAction ? nil : storage.entity.otherList(property)
          return edges[storage.entity.position][property.slot].map {
            ($0, other.flatMap { edges[$0.position][$0.slot] })
          }
        }
    }
  }

  /// Where the objects of an entity are.
  func storage(of entity: EntityDescription) -> EntityStorage { entities[entity.position] }

  /// Where an object is; `nil` if the schema has no class for it.
  func storage(of number: ObjectNumber) -> EntityStorage? {
    positionsByNumber[number.entity].map { entities[$0] }
  }

  /// The keyspace of an index.
  func keyspace(_ index: IndexDescription) -> String {
    storage(of: index.entity).indexKeyspaces[index.position]
  }

  /// The references whose keyspaces list the members of unordered relationships elsewhere.
  func references(of entity: EntityDescription) -> [(slot: Int, keyspace: String)] {
    references[entity.position]
  }

  /// The keyspaces that list the members of an entity's own relationships, and those of the other
  /// sides, if they are unordered lists too that forget who is deleted.
  func lists(of entity: EntityDescription) -> [(own: String, other: String?)] {
    lists[entity.position]
  }

  /// The keyspace in which the members of a relationship list those they are members of, if it is
  /// from many to many and there is no order to keep.
  func otherList(_ property: PropertyDescription, of entity: EntityDescription) -> String? {
    entity.otherList(property).flatMap { edges[$0.position][$0.slot] }
  }

  /// The keyspace that says who refers to an object: that of the reference itself, or of the index
  /// the schema has made where the other end does not say it.
  func referrers(_ property: PropertyDescription, of entity: EntityDescription) -> String {
    if entity.isMemberReference(property), let name = edges[entity.position][property.slot] {
      return name
    }
    guard let index = entity.indexes.first(where: { $0.slots == [property.slot] }) else {
      preconditionFailure("\(property.name) is no reference that anything is derived over")
    }
    return keyspace(index)
  }

  /// Whether a to-many relationship has a list of its own.
  func listsMembers(_ property: PropertyDescription, of entity: EntityDescription) -> Bool {
    entity.listsMembers(property)
  }

  /// Where the members of a to-many relationship are listed: at the references of its inverse, if
  /// that is to-one and there is no order to keep.
  func memberKeyspace(_ property: PropertyDescription, of entity: EntityDescription) -> String {
    var place = (entity: entity, property: property)
    if !entity.listsMembers(property), let inverse = entity.inverses[property.slot] {
      place = (inverse.entity, inverse.property)
    }
    guard let name = edges[place.entity.position][place.property.slot] else {
      preconditionFailure("\(property.name) is no relationship")
    }
    return name
  }
}

extension EntityDescription {
  /// The entity that declares a property, which this one may inherit.
  fileprivate func declaring(_ property: PropertyDescription) -> EntityDescription {
    var entity = self
    while let above = entity.superentity, property.slot < above.properties.count { entity = above }
    return entity
  }

  /// Whether a to-many relationship has a list of its own.
  fileprivate func listsMembers(_ property: PropertyDescription) -> Bool {
    guard case .toMany(let isOrdered) = property.kind else { return false }
    guard !isOrdered, let inverse = inverses[property.slot] else { return true }
    return !inverse.entity.isMemberReference(inverse.property)
  }

  /// The entity and the slot of the unordered list at the other end of a relationship.
  fileprivate func otherList(_ property: PropertyDescription) -> (position: Int, slot: Int)? {
    guard let inverse = inverses[property.slot],
      case .toMany(isOrdered: false) = inverse.property.kind,
      inverse.entity.listsMembers(inverse.property)
    else { return nil }
    return (inverse.entity.position, inverse.property.slot)
  }
}
