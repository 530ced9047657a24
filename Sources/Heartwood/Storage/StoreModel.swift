import Foundation
import Synchronization

/// A schema and a store, brought together: which object is where.
///
/// What is asked for each row is worked out once, when the model is made.
final class StoreModel: Sendable {
  let schema: Schema.Content
  /// By the position of the entity in the schema.
  let entities: [EntityStorage]
  let space: ManagedObjectID.Space
  /// How often the model of the store had been changed when this was made of it.
  let changeCount: Int64
  /// Whether what is changed is written into the history.
  let tracksHistory: Bool
  /// Whether any entity has attributes that are derived.
  let hasDerived: Bool
  /// Whether the container has let go of the store.
  var isRemoved: Bool { wasRemoved.load(ordering: .relaxed) }
  private let wasRemoved = Atomic(false)
  /// What contexts have read lately.
  let recentViews = RecentViews()
  private let positionsByNumber: [Int: Int]
  private let families: [[EntityStorage]]
  /// The keyspaces of relationships by entity and slot; `nil` where there is none.
  private let places: [[String?]]
  private let references: [[(slot: Int, keyspace: String)]]
  private let lists: [[String]]

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
    families = schema.entities.map { entity in
      entity.family.filter { !$0.isAbstract }.map { entities[$0.position] }
        .sorted { $0.number < $1.number }
    }
    let places = entities.map(\.places)
    self.places = places
    references = entities.map { storage in
      storage.entity.relationships.filter { storage.entity.isMemberReference($0) }.compactMap {
        property in
        storage.places[property.slot].map { (property.slot, $0) }
      }
    }
    lists = entities.map { storage in
      storage.entity.relationships.filter { storage.entity.listsMembers($0) }
        .compactMap { storage.places[$0.slot] }
    }
  }

  /// Has everybody know that the container lets go of the store.
  func noteRemoval() { wasRemoved.store(true, ordering: .sequentiallyConsistent) }

  /// Throws if the rows of a generation were written with another model.
  ///
  /// - Parameter keyspace: That of the model.
  func requireCurrent(_ keyspace: RowsKeyspace?) throws {
    let count = try keyspace?.withValue(StoredModel.changesKey) { try $0.number() } ?? 0
    guard count != changeCount else { return }
    throw ObjectGraphError(
      .incompatibleSchema,
      count > changeCount
        ? "The model of the store was changed after this container was opened. Open it again."
        : "This generation was written before the model of the store was changed. Only containers "
          + "that were opened before that can read it.")
  }

  /// Where the objects of an entity are.
  func storage(of entity: EntityDescription) -> EntityStorage { entities[entity.position] }

  /// Where the objects of an entity and of those below it are, in the order of their numbers.
  func family(of entity: EntityDescription) -> [EntityStorage] { families[entity.position] }

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

  /// The keyspaces that list the members of an entity's own relationships.
  func lists(of entity: EntityDescription) -> [String] { lists[entity.position] }

  /// The keyspace that says who refers to an object: that of the reference itself, or of the index
  /// the schema has made where the other end does not say it.
  func referrers(_ property: PropertyDescription, of entity: EntityDescription) -> String {
    if entity.isMemberReference(property), let name = places[entity.position][property.slot] {
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
    guard let name = places[entity.position][property.slot] else {
      preconditionFailure("\(property.name) is no to-many relationship")
    }
    return name
  }
}
