import Foundation
import Synchronization

/// The stores of a container, and the store to which each class is assigned.
///
/// Other threads may add and remove stores while contexts are in use; each access sees the stores
/// of that moment.
final class StoreGroup: Sendable {
  /// A current or removed store of the container.
  struct AttachedStore: Sendable {
    /// The location; `nil` for the in-memory store that the container was created with.
    let url: URL?
    let store: Store
    let model: StoreModel
    /// The identity of the store in generation tokens.
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

    /// The name of the store in messages.
    var name: String { url?.storeLocation ?? "in memory" }

    /// Returns a snapshot of the generation that a token has for this store, or of the newest.
    ///
    /// - Throws: `foreignStore` if the token covers other stores only; `generationExpired`.
    func snapshot(at token: QueryGenerationToken) throws -> Snapshot {
      if token.isCurrent { return try store.snapshot() }
      if let generation = generation(of: token) { return try store.snapshot(at: generation) }
      throw StorageError(.foreignStore, "The token has no generation of the store \(name).")
    }

    /// Returns the generation that a token has for this store.
    func generation(of token: QueryGenerationToken) -> GenerationToken? {
      token.generations.first { $0.store == identity }
    }
  }

  private struct Content {
    var attachedStores: [AttachedStore]
    /// The removed stores; their `store` is replaced with another one so that the removed one can
    /// close.
    var removed: [AttachedStore] = []
    var observers: [UInt64: @Sendable () -> Void] = [:]
    var lastObserver: UInt64 = 0
  }

  /// The store that the container was created with, even after it was removed.
  let first: AttachedStore
  private let content: Mutex<Content>
  /// Whether a store was ever added or removed.
  var wasChanged: Bool { isChanged.load(ordering: .relaxed) }
  private let isChanged = Atomic(false)

  init(_ first: AttachedStore) {
    self.first = first
    content = Mutex(Content(attachedStores: [first]))
  }

  /// The current stores, in the order in which they were added.
  var attachedStores: [AttachedStore] { content.withLock { $0.attachedStores } }

  /// Returns the store that matches a condition, including removed ones.
  func attachedStore(where isWanted: (StoreModel) -> Bool) -> AttachedStore? {
    content.withLock { content in
      content.attachedStores.first { isWanted($0.model) }
        ?? content.removed.first { isWanted($0.model) }
    }
  }

  // MARK: Adding and removing

  /// Adds a store.
  ///
  /// - Throws: As ``requireNew(_:_:)`` and ``requireUnassigned(_:)``.
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

  /// Removes a store; later reads from it throw an error.
  ///
  /// - Throws: `invalidArgument` if the container has no store at the URL.
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
          .invalidArgument, "The container has no store at \(location). It has: \(names).")
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

  /// Registers `body` to be called after a store was added or removed, until
  /// ``endObservation(_:)`` is called with the returned ID.
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

  /// Throws `invalidArgument` if the container already has a store at a URL.
  func requireNew(_ url: URL) throws {
    guard let known = attachedStores.first(where: { $0.url?.storeLocation == url.storeLocation })
    else { return }
    throw Self.known(known)
  }

  /// Throws `invalidArgument` if the container already has a store, perhaps at another path.
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
      "The container already has this store: \(attached.name). A copy counts as the same one: "
        + "the IDs of its objects are the same.")
  }

  /// Throws `invalidModel` if a class, or another of the same name, is already assigned to a store.
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
          ? "\(entity.name) is already assigned to the store \(attached.name). A class belongs to "
            + "one store."
          : "\(known.type) of the store \(attached.name) and \(entity.type) are both called "
            + "\(entity.name).")
    }
  }

  /// Returns the error for a read from a removed store.
  func removal(of model: StoreModel) -> ObjectGraphError {
    let name = attachedStore { $0 === model }?.name ?? "\(model.space.store)"
    return ObjectGraphError(
      .removedStore,
      "The store \(name) was removed from the container. Add it again, and refetch its objects.")
  }

  // MARK: Generations

  /// Returns the stores that a token covers and its generations of them; `nil` for the newest.
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
      "The token belongs to stores that are not in the container. Open the store "
        + "that it was taken from.")
  }

  /// Returns the token of a generation of one store and the newest generations of all others.
  func token(_ snapshot: Snapshot, of model: StoreModel) -> QueryGenerationToken {
    let others = attachedStores.filter { $0.model !== model }
    return QueryGenerationToken(
      [snapshot.token] + others.compactMap { try? $0.store.snapshot().token })
  }

  /// Returns snapshots of the generations that a token covers.
  ///
  /// - Throws: As ``generations(of:)``; `generationExpired`.
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
