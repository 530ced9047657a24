import Foundation
import Synchronization

/// The stores of a container, and the classes assigned to each store.
///
/// Other threads may add and remove stores while contexts are in use. Each access uses the stores
/// that are in the container at that time.
final class StoreGroup: Sendable {
  /// A store that is, or was, in the container.
  struct AttachedStore: Sendable {
    /// The location of the store, or `nil` if the container was created with an in-memory store.
    let url: URL?
    let store: Store
    let model: StoreModel
    /// The store's identity, as used in generation tokens.
    let identity: StoreIdentity

    init(url: URL?, store: Store, model: StoreModel) {
      self.init(url: url, store: store, model: model, identity: store.files.identity)
    }

    fileprivate init(url: URL?, store: Store, model: StoreModel, identity: StoreIdentity) {
      self.url = url
      self.store = store
      self.model = model
      self.identity = identity
    }

    /// The name of the store in error messages.
    var name: String { url?.storeLocation ?? "in memory" }

    /// Returns a snapshot of this store at the generation specified by a token.
    ///
    /// If the token represents the newest generation, the snapshot shows this store's newest
    /// generation.
    ///
    /// - Throws: `foreignStore` if the token covers only other stores, or `generationExpired` if
    ///   the generation is no longer available.
    func snapshot(at token: QueryGenerationToken) throws -> Snapshot {
      if token.isCurrent { return try store.snapshot() }
      if let generation = generation(of: token) { return try store.snapshot(at: generation) }
      throw StorageError(
        .foreignStore,
        "The token does not cover the store \(name). Use a token that covers this store.")
    }

    /// Returns the generation that a token specifies for this store, or `nil` if the token does not
    /// cover the store.
    func generation(of token: QueryGenerationToken) -> GenerationToken? {
      token.generations.first { $0.store == identity }
    }
  }

  private struct Content {
    var attachedStores: [AttachedStore]
    /// The removed stores.
    ///
    /// In each element, `store` refers to the container's first store instead of the removed store,
    /// because a reference to the removed store would keep it open.
    var removed: [AttachedStore] = []
    var observers: [UInt64: @Sendable () -> Void] = [:]
    var lastObserver: UInt64 = 0
  }

  /// The store that the container was created with, even if it is no longer in the container.
  let first: AttachedStore
  private let content: Mutex<Content>
  /// A Boolean value that indicates whether a store was ever added to or removed from the
  /// container.
  var wasChanged: Bool { isChanged.load(ordering: .relaxed) }
  private let isChanged = Atomic(false)

  init(_ first: AttachedStore) {
    self.first = first
    content = Mutex(Content(attachedStores: [first]))
  }

  /// The current stores, in the order in which they were added.
  var attachedStores: [AttachedStore] { content.withLock { $0.attachedStores } }

  /// Returns the first store whose model meets a condition, or `nil` if there is none.
  ///
  /// Stores that have been removed are searched last.
  func attachedStore(where isWanted: (StoreModel) -> Bool) -> AttachedStore? {
    content.withLock { content in
      content.attachedStores.first { isWanted($0.model) }
        ?? content.removed.first { isWanted($0.model) }
    }
  }

  // MARK: Adding and removing

  /// Adds a store.
  ///
  /// - Throws: `invalidArgument` if the container already has the store, or `invalidModel` if one
  ///   of the new store's classes is already assigned to another store.
  func add(_ attached: AttachedStore) throws {
    try content.withLock { content in
      try Self.requireNew(attached.identity, attached.model.space.store, content.attachedStores)
      for entity in attached.model.schema.entities {
        try Self.requireUnassigned(entity, content.attachedStores)
      }
      content.removed.removeAll { $0.model.space.store == attached.model.space.store }
      content.attachedStores.append(attached)
    }
    notifyObservers()
  }

  /// Removes a store.
  ///
  /// Later reads from the store throw an error.
  ///
  /// - Throws: `invalidArgument` if the container has no store at the given URL.
  func remove(_ url: URL) throws -> AttachedStore {
    defer { notifyObservers() }
    return try content.withLock { content in
      let location = url.storeLocation
      guard
        let position = content.attachedStores.firstIndex(where: {
          $0.url?.storeLocation == location
        })
      else {
        let names = content.attachedStores.map(\.name).joined(separator: ", ")
        throw StorageError(
          .invalidArgument,
          "The container has no store at \(location). Pass the URL of one of its stores: \(names).")
      }
      let attached = content.attachedStores.remove(at: position)
      attached.model.markRemoved()
      content.removed.append(
        AttachedStore(
          url: attached.url, store: first.store, model: attached.model, identity: attached.identity)
      )
      return attached
    }
  }

  /// Registers `body` to be called whenever a store has been added or removed.
  ///
  /// To stop the calls, pass the returned ID to ``endObservation(_:)``.
  func observe(_ body: @escaping @Sendable () -> Void) -> UInt64 {
    content.withLock { content in
      content.lastObserver += 1
      content.observers[content.lastObserver] = body
      return content.lastObserver
    }
  }

  func endObservation(_ observer: UInt64) { content.withLock { $0.observers[observer] = nil } }

  private func notifyObservers() {
    isChanged.store(true, ordering: .sequentiallyConsistent)
    for body in content.withLock({ $0.observers.values.map { $0 } }) { body() }
  }

  /// Checks that the container does not already have a store at the given URL.
  ///
  /// - Throws: `invalidArgument` if there is such a store.
  func requireNew(_ url: URL) throws {
    guard let known = attachedStores.first(where: { $0.url?.storeLocation == url.storeLocation })
    else { return }
    throw Self.known(known)
  }

  /// Checks that the container contains neither the store with the given identity nor a copy of
  /// that store.
  ///
  /// The check finds the store even if it was opened at another path.
  ///
  /// - Parameter space: The store's identifier, as used in object IDs. A store and its copies share
  ///   it.
  /// - Throws: `invalidArgument` if the container has the store or a copy of it.
  func requireNew(_ identity: StoreIdentity, _ space: UUID) throws {
    try Self.requireNew(identity, space, attachedStores)
  }

  private static func requireNew(
    _ identity: StoreIdentity, _ space: UUID, _ attachedStores: [AttachedStore]
  ) throws {
    let known = attachedStores.first { $0.identity == identity || $0.model.space.store == space }
    if let known { throw Self.known(known) }
  }

  private static func known(_ attached: AttachedStore) -> StorageError {
    StorageError(
      .invalidArgument,
      "The container already has this store (\(attached.name)). Use the existing store, or "
        + "remove it first. The container treats a copy of a store as the same store, because "
        + "its objects have the same IDs.")
  }

  /// Checks that no store in the container has a class with the given entity's name.
  ///
  /// - Throws: `invalidModel` if a store has such a class.
  func requireUnassigned(_ entity: EntityDescription) throws {
    try Self.requireUnassigned(entity, attachedStores)
  }

  private static func requireUnassigned(
    _ entity: EntityDescription, _ attachedStores: [AttachedStore]
  ) throws {
    for attached in attachedStores {
      guard let known = attached.model.schema.entities.first(where: { $0.name == entity.name })
      else {
        continue
      }
      throw ObjectGraphError(
        .invalidModel,
        known.type == entity.type
          ? "\(entity.name) is already assigned to the store \(attached.name). A class can belong "
            + "to only one store, so do not specify this class for the new store."
          : "The class \(entity.type) and the class \(known.type) of the store \(attached.name) "
            + "have the same name, \(entity.name). Rename one of them.")
    }
  }

  /// Returns the error to throw when a removed store is read.
  func removal(of model: StoreModel) -> ObjectGraphError {
    let name = attachedStore { $0 === model }?.name ?? "\(model.space.store)"
    return ObjectGraphError(
      .removedStore,
      "The store \(name) was removed from the container. Add the store again, and refetch its "
        + "objects.")
  }

  // MARK: Generations

  /// Returns the stores covered by a token, each with the generation that the token specifies.
  ///
  /// The generation is `nil` if the token represents the newest generation.
  ///
  /// - Throws: `removedStore` or `foreignStore` if the token covers none of the stores.
  func generations(
    of token: QueryGenerationToken
  ) throws -> [(attached: AttachedStore, generation: GenerationToken?)] {
    let (attachedStores, removed) = content.withLock { ($0.attachedStores, $0.removed) }
    if token.isCurrent { return attachedStores.map { ($0, nil) } }
    let known = attachedStores.compactMap { attached in
      attached.generation(of: token).map { (attached: attached, generation: Optional($0)) }
    }
    guard known.isEmpty else { return known }
    if let gone = removed.first(where: { $0.generation(of: token) != nil }) {
      throw removal(of: gone.model)
    }
    throw StorageError(
      .foreignStore,
      "The token comes from a store that is not in the container. Add that store, or use a token "
        + "from this container.")
  }

  /// Returns a token that combines the generation of `snapshot` with the newest generations of all
  /// other stores.
  func token(_ snapshot: Snapshot, of model: StoreModel) -> QueryGenerationToken {
    let others = attachedStores.filter { $0.model !== model }
    return QueryGenerationToken(
      [snapshot.token] + others.compactMap { try? $0.store.snapshot().token })
  }

  /// Returns snapshots of the generations that a token specifies.
  ///
  /// - Throws: `removedStore` or `foreignStore` if the token covers none of the stores, or
  ///   `generationExpired` if a generation is no longer available.
  func snapshots(
    at token: QueryGenerationToken
  ) throws -> [(attached: AttachedStore, snapshot: Snapshot)] {
    try generations(of: token).map { attached, generation in
      (
        attached,
        try generation.map { try attached.store.snapshot(at: $0) } ?? attached.store.snapshot()
      )
    }
  }
}

extension URL {
  /// The normalised location, which identifies a store.
  var storeLocation: String {
    isFileURL ? resolvingSymlinksInPath().standardizedFileURL.path : absoluteString
  }
}
