public import Foundation
import Synchronization

extension PersistentContainer {
  /// Adds a store to the container, and assigns classes to the store.
  ///
  /// The store is created if it does not exist. All contexts, including existing ones, work with
  /// the objects of all stores. A pinned context does not see the new store until it moves to
  /// another generation. A save writes to one store only, and relationships cannot cross stores.
  ///
  /// ```swift
  /// try container.addStore(url: cacheURL, entities: [Thumbnail.self])
  /// let thumbnail = Thumbnail(context: context)
  /// ```
  ///
  /// The store is opened with the options of the first store, except for the migration stages. If
  /// the first store is in memory, the new store is also in memory, and the URL serves as its name.
  /// The new store uses the schema version of the container. Other processes and containers must
  /// add the store themselves.
  ///
  /// - Parameters:
  ///   - url: The directory of the store.
  ///   - entities: The classes of the objects in the store, including their superclasses and all
  ///     destinations of their relationships.
  /// - Throws: `invalidModel` if a class is already assigned to a store, or if a relationship
  ///   refers to a class outside the store; `invalidArgument` if the container already has the
  ///   store; the same errors as ``init(url:schema:options:)``. If a relationship is invalid, the
  ///   message names the property. If the method throws, the container is unchanged.
  /// - Complexity: The same as ``init(url:schema:options:)``.
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
    // Check the identity before opening the model, because opening the model can migrate the store
    // and a rejected store must stay unchanged.
    let known = try StoredState(
      store.snapshot().keyspace(StoredModel.keyspace).map { .snapshot($0) })
    try group.requireNew(store.files.identity, known.identity)
    let model = try StoreOpening(store: store, schema: schema, options: options).run()
    try group.add(StoreGroup.AttachedStore(url: url, store: store, model: model))
  }

  /// Removes a store from the container.
  ///
  /// Loaded objects of the store keep their values. All other objects of the store become
  /// inaccessible faults: they have the same values as new objects and are treated as deleted.
  /// Fetching objects of the store throws `removedStore`. Saving a context that has unsaved changes
  /// to such objects also throws `removedStore`; revert these changes first. Pinned contexts stay
  /// pinned to the same generations of the other stores.
  ///
  /// When the contexts that have used the store are deallocated or reset, the store's locks are
  /// released and its files are closed. The store stays on disk unchanged and can be added again.
  /// Its objects are then new instances with the same IDs. An in-memory store is freed with these
  /// contexts, unless another container uses it.
  ///
  /// The store that the container was created with can be removed as well; ``store`` is then
  /// closed.
  ///
  /// - Parameter url: The directory of the store.
  /// - Throws: `invalidArgument` if the container has no such store; any error from the final
  ///   checkpoint. The store is removed even if the checkpoint fails.
  /// - Complexity: Waits for running transactions, and runs a checkpoint, as `Store.close` does.
  public func removeStore(url: URL) throws {
    let removed = try group.remove(url)
    // Wait for any running save before closing the store. Saves that start later throw, because the
    // store is already marked as removed.
    _ = try? removed.store.write { _ in }
    if !options.isInMemory { try removed.store.close() }
  }

  /// Throws if the classes cannot be assigned to a new store.
  private func requireAssignable(_ types: [ManagedObject.Type], _ schema: Schema.Content) throws {
    guard !types.isEmpty else {
      throw ObjectGraphError(
        .invalidModel, "No classes were specified for the store. Specify at least one class.")
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
        throw unnamed(
          other, "\(entity.name).\(property.name) refers to",
          "Relationships cannot cross stores. Store the object's URI in an attribute instead.")
      }
      if let superentity = entity.superentity, !isNamed(superentity) {
        throw unnamed(
          superentity, "\(entity.name) inherits from",
          "Inheritance cannot cross stores. Specify both classes for the same store.")
      }
      try group.requireUnassigned(entity)
    }
  }

  /// Returns the error for a class that is required by a new store but was not specified.
  ///
  /// A class of the new store refers to the missing class or inherits from it. The message of the
  /// error begins with `reason`. If the class already belongs to another store, the message ends
  /// with `remedy`.
  private func unnamed(
    _ entity: EntityDescription, _ reason: String, _ remedy: String
  ) -> ObjectGraphError {
    guard
      let assigned = group.attachedStores.first(where: {
        $0.model.schema.entity(of: entity.type) != nil
      })
    else {
      return ObjectGraphError(
        .invalidModel,
        "\(reason) \(entity.name), which is not assigned to any store. Add \(entity.name) to the "
          + "classes specified for the new store.")
    }
    return ObjectGraphError(
      .invalidModel,
      "\(reason) \(entity.name), which is in the store \(assigned.name). \(remedy)")
  }
}

/// The named in-memory stores of this process.
enum NamedStores {
  private struct Entry: Sendable {
    weak var store: Store?
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// Returns the open store with the given name, or creates it if it is not open.
  ///
  /// - Parameter options: The options for a new store. A store that is already open ignores these
  ///   options.
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
