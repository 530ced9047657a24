import Foundation

/// What became of objects between two generations, or in one commit.
///
/// It names objects and properties and has no values: those are in the generations. IDs are in the
/// order in which the objects were made.
public struct ChangeSet: Sendable {
  /// What became of the objects of one entity.
  public struct EntityChanges: Hashable, Sendable {
    /// Those that only the later generation has.
    public internal(set) var inserted: [ManagedObjectID] = []
    /// Those that were written, with the names of the properties that differ; none, if one was
    /// written again as it was.
    public internal(set) var updated: [ManagedObjectID: Set<String>] = [:]
    /// Those that only the earlier generation has.
    public internal(set) var deleted: [ManagedObjectID] = []
  }

  /// The changes by the name of the entity, for those that have any.
  public internal(set) var entities: [String: EntityChanges] = [:]
  /// The generation the changes lead to.
  public internal(set) var generation: QueryGenerationToken
  /// The stores they are of.
  var stores: Set<UUID>

  /// Takes up what became of the objects of another store, which has other entities.
  mutating func join(_ other: ChangeSet) {
    entities.merge(other.entities) { own, _ in own }
    stores.formUnion(other.stores)
    generation = QueryGenerationToken(generation.generations + other.generation.generations)
  }

  /// Whether no object was changed.
  public var isEmpty: Bool { entities.isEmpty }
  /// The objects of all entities that only the later generation has.
  public var inserted: Set<ManagedObjectID> { Set(entities.values.flatMap(\.inserted)) }
  /// The objects of all entities that were written, with the properties that differ.
  public var updated: [ManagedObjectID: Set<String>] {
    entities.values.reduce(into: [:]) { $0.merge($1.updated) { first, _ in first } }
  }
  /// The objects of all entities that only the earlier generation has.
  public var deleted: Set<ManagedObjectID> { Set(entities.values.flatMap(\.deleted)) }
}
