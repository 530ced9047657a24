import Foundation
import Synchronization

/// A schema, together with the keyspaces and record layouts of its entities in a store.
///
/// Information that is needed for every row is computed once, when this object is created.
final class StoreModel: Sendable {
  let schema: Schema.Content
  /// The storage of each entity, indexed by the entity's position in the schema.
  let entities: [EntityStorage]
  let space: ManagedObjectID.Space
  /// The number of times that the store's model had changed when this object was created.
  let changeCount: Int64
  /// A Boolean value that indicates whether changes are recorded in the history.
  let tracksHistory: Bool
  /// A Boolean value that indicates whether any entity has derived attributes.
  let hasDerived: Bool
  /// A Boolean value that indicates whether the store was removed from the container.
  var isRemoved: Bool { wasRemoved.load(ordering: .relaxed) }
  private let wasRemoved = Atomic(false)
  /// The views that contexts have read recently.
  let recentViews = RecentViews()
  private let positionsByNumber: [Int: Int]
  private let families: [[EntityStorage]]
  /// The keyspaces of relationships, indexed by entity and then by slot.
  ///
  /// An element is `nil` for a property without a keyspace.
  private let relationshipKeyspaces: [[String?]]
  private let references: [[(slot: Int, keyspace: String)]]
  private let lists: [[String]]
  /// The results of ``isIsolated(_:)`` for all entities, indexed by the entity's position.
  private let areIsolated: [Bool]

  init(
    _ schema: Schema.Content, _ stored: StoredModel, store: UUID, changeCount: Int64,
    tracksHistory: Bool
  ) throws {
    self.schema = schema
    self.changeCount = changeCount
    self.tracksHistory = tracksHistory
    hasDerived = schema.entities.contains { !$0.derived.isEmpty }
    let entities = try schema.entities.map { entity in
      guard let found = stored.entity(named: entity.name) else {
        throw ObjectGraphError(
          .incompatibleSchema,
          "The store has no entity named \(entity.name). To add it, open the store with a "
            + "container whose schema contains the entity's class.")
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
    families = schema.entities.map { entity in
      entity.family.filter { !$0.isAbstract }.map { entities[$0.position] }
        .sorted { $0.number < $1.number }
    }
    let relationshipKeyspaces = entities.map(\.relationshipKeyspaces)
    self.relationshipKeyspaces = relationshipKeyspaces
    references = entities.map { storage in
      storage.entity.relationships.filter { storage.entity.isMemberReference($0) }.compactMap {
        property in
        storage.relationshipKeyspaces[property.slot].map { (property.slot, $0) }
      }
    }
    let destinations = schema.entities.flatMap(\.relationships).compactMap {
      schema.destination(of: $0)
    }
    areIsolated = schema.entities.map { entity in
      entity.relationships.isEmpty && entity.derived.isEmpty && !entity.hasUniqueConstraints
        && !destinations.contains { entity.isKind(of: $0) || $0.isKind(of: entity) }
    }
    lists = entities.map { storage in
      storage.entity.relationships.filter { storage.entity.listsMembers($0) }
        .compactMap { storage.relationshipKeyspaces[$0.slot] }
    }
  }

  /// Marks the store as removed from the container.
  func markRemoved() { wasRemoved.store(true, ordering: .sequentiallyConsistent) }

  /// Checks that the rows of a generation were written with this model.
  ///
  /// - Parameter keyspace: The keyspace that contains the stored model of the generation.
  /// - Throws: `incompatibleSchema` if the rows were written with another model.
  func requireCurrent(_ keyspace: RowsKeyspace?) throws {
    let count = try keyspace?.withValue(StoredModel.changesKey) { try $0.number() } ?? 0
    guard count != changeCount else { return }
    throw ObjectGraphError(
      .incompatibleSchema,
      count > changeCount
        ? "The store's model was changed after this container was opened. Open the container again."
        : "This generation was written before the store's model was changed. Only containers that "
          + "were opened before the change can read it. Read a newer generation.")
  }

  /// Returns whether an entity belongs to this model, rather than to another store's model.
  func contains(_ entity: EntityDescription) -> Bool {
    entity.position < schema.entities.count && schema.entities[entity.position] === entity
  }

  /// Returns the storage of an entity.
  func storage(of entity: EntityDescription) -> EntityStorage { entities[entity.position] }

  /// Returns the storage of an entity and each of its subentities, sorted by number.
  func family(of entity: EntityDescription) -> [EntityStorage] { families[entity.position] }

  /// Returns the storage of an object's entity, or `nil` if the schema has no class for the object.
  func storage(of number: ObjectNumber) -> EntityStorage? {
    positionsByNumber[number.entity].map { entities[$0] }
  }

  /// Returns the object number for a string such as `Team/12`, or `nil` if the string is invalid.
  ///
  /// The object need not exist.
  func number(_ text: String) -> ObjectNumber? {
    guard let slash = text.lastIndex(of: "/"),
      let entity = schema.entity(named: String(text[..<slash])),
      let row = Int64(text[text.index(after: slash)...]), (0...ObjectNumber.maxRow).contains(row)
    else { return nil }
    return ObjectNumber(entity: storage(of: entity).number, row: row)
  }

  /// Returns whether inserting an object of an entity affects no other row.
  ///
  /// The result is `true` if the entity has no relationships, unique constraints or derived
  /// attributes, and no relationship refers to the entity.
  func isIsolated(_ entity: EntityDescription) -> Bool { areIsolated[entity.position] }

  /// Returns the keyspace of an index.
  func keyspace(_ index: IndexDescription) -> String {
    storage(of: index.entity).indexKeyspaces[index.position]
  }

  /// Returns the keyspace of a text index.
  func keyspace(_ index: TextIndexDescription) -> String {
    guard let name = storage(of: index.entity).textKeyspace else {
      preconditionFailure("\(index.entity.name) declares no text index.")
    }
    return name
  }

  /// Returns an entity's to-one relationships that have an unordered to-many inverse.
  ///
  /// The result contains the slot of each relationship and the keyspace that lists the members of
  /// its inverse.
  func references(of entity: EntityDescription) -> [(slot: Int, keyspace: String)] {
    references[entity.position]
  }

  /// Returns the keyspaces that list the members of an entity's own to-many relationships.
  func lists(of entity: EntityDescription) -> [String] { lists[entity.position] }

  /// Returns the keyspace that lists, for each object, the objects that refer to it through a
  /// to-one relationship.
  ///
  /// If the relationship's inverse is an unordered to-many relationship, the result is the keyspace
  /// that the two relationships share. Otherwise, the result is the keyspace of an index that the
  /// schema has added.
  func referrers(_ property: PropertyDescription, of entity: EntityDescription) -> String {
    if entity.isMemberReference(property),
      let name = relationshipKeyspaces[entity.position][property.slot]
    {
      return name
    }
    guard let index = entity.indexes.first(where: { $0.slots == [property.slot] }) else {
      preconditionFailure("No attribute is derived from the relationship \(property.name).")
    }
    return keyspace(index)
  }

  /// Returns whether a to-many relationship has its own list of members.
  func listsMembers(_ property: PropertyDescription, of entity: EntityDescription) -> Bool {
    entity.listsMembers(property)
  }

  /// Returns the keyspace that lists the members of a to-many relationship.
  ///
  /// If the relationship is unordered and its inverse is to-one, the result is the keyspace of the
  /// inverse.
  func memberKeyspace(_ property: PropertyDescription, of entity: EntityDescription) -> String {
    guard let name = relationshipKeyspaces[entity.position][property.slot] else {
      preconditionFailure("\(property.name) is not a to-many relationship.")
    }
    return name
  }
}
