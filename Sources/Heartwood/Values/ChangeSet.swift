import Foundation

/// The objects that were inserted, updated or deleted between two generations or in one commit.
///
/// A change set identifies objects and properties, but contains no values. The values can be read
/// from the generations. The inserted and deleted objects of an entity are listed in ascending
/// order of row ID.
public struct ChangeSet: Sendable {
  /// The changes to the objects of one entity.
  public struct EntityChanges: Hashable, Sendable {
    /// The objects that exist after the changes but not before them.
    public internal(set) var inserted: [ManagedObjectID] = []
    /// The updated objects, each with the names of its changed properties.
    ///
    /// The set of names is empty if the object was saved without a change to its values.
    public internal(set) var updated: [ManagedObjectID: Set<String>] = [:]
    /// The objects that existed before the changes but not after them.
    public internal(set) var deleted: [ManagedObjectID] = []
  }

  /// The changes, keyed by entity name.
  ///
  /// Entities without changes are omitted.
  public internal(set) var entities: [String: EntityChanges] = [:]
  /// The generation that contains the result of the changes.
  public internal(set) var generation: QueryGenerationToken
  /// The UUIDs of the stores to which the changes belong.
  var stores: Set<UUID>

  /// Merges the changes of another store into this change set.
  ///
  /// No entity occurs in both change sets, because a class belongs to only one store.
  mutating func merge(_ other: ChangeSet) {
    entities.merge(other.entities) { own, _ in own }
    stores.formUnion(other.stores)
    generation = QueryGenerationToken(generation.generations + other.generation.generations)
  }

  /// A Boolean value that indicates whether there are no changes.
  public var isEmpty: Bool { entities.isEmpty }
  /// The inserted objects of all entities.
  public var inserted: Set<ManagedObjectID> { Set(entities.values.flatMap(\.inserted)) }
  /// The updated objects of all entities, each with the names of its changed properties.
  public var updated: [ManagedObjectID: Set<String>] {
    entities.values.reduce(into: [:]) { $0.merge($1.updated) { first, _ in first } }
  }
  /// The deleted objects of all entities.
  public var deleted: Set<ManagedObjectID> { Set(entities.values.flatMap(\.deleted)) }
}
