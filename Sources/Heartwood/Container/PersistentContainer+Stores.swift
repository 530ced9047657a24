public import Foundation
import Synchronization

extension PersistentContainer {
  /// Adds a store, or makes one, which is the home of some classes from then on.
  ///
  /// Contexts work with the objects of all stores, also contexts that are there already; a pinned
  /// one shows the store when it goes on to another generation. A save writes to one store, and
  /// relationships stay within one.
  ///
  /// ```swift
  /// try container.addStore(url: cacheURL, entities: [Thumbnail.self])
  /// let thumbnail = Thumbnail(context: context)
  /// ```
  ///
  /// It is opened as the first one was: with the same options, but without their stages; in memory,
  /// named by the URL, if that is. The version of the container's schema counts for it too. Another
  /// process, or another container, has to add it by itself.
  ///
  /// - Parameters:
  ///   - url: The folder of the store.
  ///   - entities: The classes whose objects are in it, with their superclasses and all that their
  ///     relationships lead to.
  /// - Throws: `invalidModel` if a class has a home already, or a relationship leads out of the
  ///   store, naming the property; `invalidArgument` if the container has the store already; else
  ///   as ``init(url:schema:options:)``. The container stays as it is then.
  /// - Complexity: As ``init(url:schema:options:)``.
  public func addStore(url: URL, entities: [ManagedObject.Type]) throws {
    try group.requireNew(url)
    let schema = Schema(version: version, types: entities)
    try requireHome(entities, schema.content)
    try schema.requireValid()
    var options = options
    options.stages = []
    let store =
      options.inMemory
      ? try NamedStores.store(url.storePlace, options.store)
      : try Store(at: url.path(percentEncoded: false), options: options.store)
    // Before anything is changed in it.
    let known = try StoredState(
      store.snapshot().keyspace(StoredModel.keyspace).map { .snapshot($0) })
    try group.requireNew(store.files.identity, known.identity)
    let model = try StoreOpening(store: store, schema: schema, options: options).run()
    try group.add(StoreGroup.Member(url: url, store: store, model: model))
  }

  /// Takes a store out of the container, which goes on with the others.
  ///
  /// Objects of it that were loaded keep their values, and all others are inaccessible faults: they
  /// have the values of new objects and count as deleted. Fetching them throws `removedStore`, and
  /// so does a save while there are changes of them, until they are taken back. Contexts that are
  /// pinned go on reading the same of the other stores; its locks are given up, and its files
  /// closed, when the contexts that have used it are gone or were reset. It is on disk as it was,
  /// and can be added again: its objects are others then, with the same IDs. One in memory ends
  /// with them, unless another container has it.
  ///
  /// The store the container was made with can be removed as well; ``store`` is closed then.
  ///
  /// - Parameter url: The folder of the store.
  /// - Throws: `invalidArgument` if the container has no such store; what kept the last checkpoint
  ///   from succeeding, though the store is removed.
  /// - Complexity: Waits for transactions that are under way. A checkpoint, as `Store.close`.
  public func removeStore(url: URL) throws {
    let removed = try group.remove(url)
    // Whoever saves now is finished before, and whoever comes later finds that it was removed.
    _ = try? removed.store.write { _ in }
    if !options.inMemory { try removed.store.close() }
  }

  /// Throws if classes cannot be in a store of their own.
  private func requireHome(_ types: [ManagedObject.Type], _ schema: Schema.Content) throws {
    guard !types.isEmpty else {
      throw ObjectGraphError(.invalidModel, "Name the classes whose objects are in the store.")
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
      if let above = entity.superentity, !isNamed(above) {
        try requireNamed(above, "\(entity.name) inherits from")
      }
      try group.requireHomeless(entity)
    }
  }

  /// Throws what is wrong with a class that others need and that was not named.
  private func requireNamed(_ entity: EntityDescription, _ reason: String) throws {
    guard
      let home = group.members.first(where: { $0.model.schema.entity(of: entity.type) != nil })
    else {
      throw ObjectGraphError(
        .invalidModel, "\(reason) \(entity.name): name that too, to be in the same store.")
    }
    throw ObjectGraphError(
      .invalidModel,
      "\(reason) \(entity.name), which is in the store \(home.name): relationships and inheritance "
        + "stay within one store. Keep the URI of an objectID in an attribute instead.")
  }
}

/// The stores in memory that have a name.
enum NamedStores {
  private struct Entry: Sendable {
    weak var store: Store?
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// The store of a name, made if nobody has it open.
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
