public import Foundation
import Synchronization

extension PersistentContainer {
  /// Adds a store, which is created if necessary, and assigns classes to it.
  ///
  /// All contexts work with the objects of all stores, including existing contexts; a pinned one
  /// shows the store after it moves to another generation. A save writes to one store, and
  /// relationships do not cross stores.
  ///
  /// ```swift
  /// try container.addStore(url: cacheURL, entities: [Thumbnail.self])
  /// let thumbnail = Thumbnail(context: context)
  /// ```
  ///
  /// The store is opened like the first one: with the same options except the migration stages, and
  /// in memory, with the URL as its name, if the first one is. The version of the container's
  /// schema also applies to it. Other processes and containers must add it themselves.
  ///
  /// - Parameters:
  ///   - url: The directory of the store.
  ///   - entities: The classes whose objects are in it, including their superclasses and all
  ///     destinations of their relationships.
  /// - Throws: `invalidModel` if a class is already assigned to a store, or a relationship leads
  ///   out of the store, with the name of the property; `invalidArgument` if the container already
  ///   has the store; otherwise as ``init(url:schema:options:)``. The container is unchanged then.
  /// - Complexity: As ``init(url:schema:options:)``.
  public func addStore(url: URL, entities: [ManagedObject.Type]) throws {
    try group.requireNew(url)
    let schema = Schema(version: version, types: entities)
    try requireAssignable(entities, schema.content)
    try schema.requireValid()
    var options = options
    options.stages = []
    let store =
      options.isInMemory
      ? try NamedStores.store(url.storeLocation, options.store)
      : try Store(at: url.path(percentEncoded: false), options: options.store)
    // Checks this before anything in the store changes.
    let known = try StoredState(
      store.snapshot().keyspace(StoredModel.keyspace).map { .snapshot($0) })
    try group.requireNew(store.files.identity, known.identity)
    let model = try StoreOpening(store: store, schema: schema, options: options).run()
    try group.add(StoreGroup.AttachedStore(url: url, store: store, model: model))
  }

  /// Removes a store from the container.
  ///
  /// Loaded objects of the store keep their values. All others are inaccessible faults: they have
  /// the values of new objects and count as deleted. Fetching them throws `removedStore`, and so
  /// does a save while there are unsaved changes of them, until these are reverted. Pinned contexts
  /// keep their generations of the other stores. The locks of the store are released, and its files
  /// closed, when the contexts that have used it are deallocated or reset. The store stays on disk
  /// unchanged, and can be added again: there are new objects then, with the same IDs. An in-memory
  /// store is freed with these contexts, unless another container has it.
  ///
  /// The store that the container was created with can be removed as well; ``store`` is closed
  /// then.
  ///
  /// - Parameter url: The directory of the store.
  /// - Throws: `invalidArgument` if the container has no such store; the error of the last
  ///   checkpoint, although the store is removed.
  /// - Complexity: Waits for running transactions. A checkpoint, as `Store.close`.
  public func removeStore(url: URL) throws {
    let removed = try group.remove(url)
    // Waits for a running save; later ones find that the store was removed.
    _ = try? removed.store.write { _ in }
    if !options.isInMemory { try removed.store.close() }
  }

  /// Throws if classes cannot be assigned to a store of their own.
  private func requireAssignable(_ types: [ManagedObject.Type], _ schema: Schema.Content) throws {
    guard !types.isEmpty else {
      throw ObjectGraphError(
        .invalidModel, "No classes were named for the store. Name at least one.")
    }
    let named = Set(types.map { ObjectIdentifier($0) })
    func isNamed(_ entity: EntityDescription) -> Bool {
      named.contains(ObjectIdentifier(entity.type))
    }
    for entity in schema.entities where isNamed(entity) {
      for property in entity.relationships {
        guard let other = property.storage.destination.flatMap({ schema.entity(of: $0) }),
          !isNamed(other)
        else { continue }
        try requireNamed(other, "\(entity.name).\(property.name) leads to")
      }
      if let superentity = entity.superentity, !isNamed(superentity) {
        try requireNamed(superentity, "\(entity.name) inherits from")
      }
      try group.requireUnassigned(entity)
    }
  }

  /// Throws the error for a class that others need and that was not named.
  private func requireNamed(_ entity: EntityDescription, _ reason: String) throws {
    guard
      let assigned = group.attachedStores.first(where: {
        $0.model.schema.entity(of: entity.type) != nil
      })
    else {
      throw ObjectGraphError(
        .invalidModel, "\(reason) \(entity.name). Add that class to the same store.")
    }
    throw ObjectGraphError(
      .invalidModel,
      "\(reason) \(entity.name), which is in the store \(assigned.name). Relationships and "
        + "inheritance cannot cross stores. Store the object's URI in an attribute instead.")
  }
}

/// The named in-memory stores.
enum NamedStores {
  private struct Entry: Sendable {
    weak var store: Store?
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// Returns the store with a name, which is created if it is not open.
  static func store(_ name: String, _ options: StoreOptions = StoreOptions()) throws -> Store {
    try entries.withLock { entries in
      entries = entries.filter { $0.value.store != nil }
      if let store = entries[name]?.store { return store }
      let store = try Store.inMemory(options: options)
      entries[name] = Entry(store: store)
      return store
    }
  }
}
