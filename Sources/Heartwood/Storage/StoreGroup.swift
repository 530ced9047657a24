import Foundation
import Synchronization

/// The stores of a container, and the store to which each class is assigned.
///
/// Other threads may add and remove stores while contexts are in use; each access sees the stores
/// of that moment.
final class StoreGroup: Sendable {
  /// A current or removed store of the container.
  struct Member: Sendable {
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
    var name: String { url?.storePlace ?? "in memory" }

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
    var members: [Member]
    /// The removed stores; their `store` is replaced with another one so that the removed one can
    /// close.
    var removed: [Member] = []
    var watches: [UInt64: @Sendable () -> Void] = [:]
    var lastWatch: UInt64 = 0
  }

  /// The store that the container was created with, even after it was removed.
  let first: Member
  private let content: Mutex<Content>
  /// Whether a store was ever added or removed.
  var wasChanged: Bool { isChanged.load(ordering: .relaxed) }
  private let isChanged = Atomic(false)

  init(_ first: Member) {
    self.first = first
    content = Mutex(Content(members: [first]))
  }

  /// The current stores, in the order in which they were added.
  var members: [Member] { content.withLock { $0.members } }

  /// Returns the store that matches a condition, including removed ones.
  func member(where isWanted: (StoreModel) -> Bool) -> Member? {
    content.withLock { content in
      content.members.first { isWanted($0.model) } ?? content.removed.first { isWanted($0.model) }
    }
  }

  // MARK: Adding and removing

  /// Adds a store.
  ///
  /// - Throws: As ``requireNew(_:_:)`` and ``requireHomeless(_:)``.
  func add(_ member: Member) throws {
    try content.withLock { content in
      try Self.requireNew(member.identity, member.model.space.store, content.members)
      for entity in member.model.schema.entities {
        try Self.requireHomeless(entity, content.members)
      }
      content.removed.removeAll { $0.model.space.store == member.model.space.store }
      content.members.append(member)
    }
    tell()
  }

  /// Removes a store; later reads from it throw an error.
  ///
  /// - Throws: `invalidArgument` if the container has no store at the URL.
  func remove(_ url: URL) throws -> Member {
    defer { tell() }
    return try content.withLock { content in
      let place = url.storePlace
      guard let position = content.members.firstIndex(where: { $0.url?.storePlace == place }) else {
        let names = content.members.map(\.name).joined(separator: ", ")
        throw StorageError(
          .invalidArgument, "The container has no store at \(place). It has: \(names).")
      }
      let member = content.members.remove(at: position)
      member.model.noteRemoval()
      content.removed.append(
        Member(
          url: member.url, store: first.store, model: member.model, identity: member.identity))
      return member
    }
  }

  /// Registers `body` to be called after a store was added or removed, until ``endWatch(_:)`` is
  /// called with the returned ID.
  func watch(_ body: @escaping @Sendable () -> Void) -> UInt64 {
    content.withLock { content in
      content.lastWatch += 1
      content.watches[content.lastWatch] = body
      return content.lastWatch
    }
  }

  func endWatch(_ watch: UInt64) { content.withLock { $0.watches[watch] = nil } }

  private func tell() {
    isChanged.store(true, ordering: .sequentiallyConsistent)
    for body in content.withLock({ $0.watches.values.map { $0 } }) { body() }
  }

  /// Throws `invalidArgument` if the container already has a store at a URL.
  func requireNew(_ url: URL) throws {
    guard let known = members.first(where: { $0.url?.storePlace == url.storePlace }) else { return }
    throw Self.known(known)
  }

  /// Throws `invalidArgument` if the container already has a store, perhaps at another path.
  func requireNew(_ identity: StoreIdentity, _ space: UUID) throws {
    try Self.requireNew(identity, space, members)
  }

  private static func requireNew(
    _ identity: StoreIdentity, _ space: UUID, _ members: [Member]
  ) throws {
    let known = members.first { $0.identity == identity || $0.model.space.store == space }
    if let known { throw Self.known(known) }
  }

  private static func known(_ member: Member) -> StorageError {
    StorageError(
      .invalidArgument,
      "The container already has this store: \(member.name). A copy counts as the same one: "
        + "the IDs of its objects are the same.")
  }

  /// Throws `invalidModel` if a class, or another of the same name, is already assigned to a store.
  func requireHomeless(_ entity: EntityDescription) throws {
    try Self.requireHomeless(entity, members)
  }

  private static func requireHomeless(_ entity: EntityDescription, _ members: [Member]) throws {
    for member in members {
      guard let known = member.model.schema.entities.first(where: { $0.name == entity.name }) else {
        continue
      }
      throw ObjectGraphError(
        .invalidModel,
        known.type == entity.type
          ? "\(entity.name) is already assigned to the store \(member.name). A class belongs to "
            + "one store."
          : "\(known.type) of the store \(member.name) and \(entity.type) are both called "
            + "\(entity.name).")
    }
  }

  /// Returns the error for a read from a removed store.
  func removal(of model: StoreModel) -> ObjectGraphError {
    let name = member { $0 === model }?.name ?? "\(model.space.store)"
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
  ) throws -> [(member: Member, generation: GenerationToken?)] {
    let (members, removed) = content.withLock { ($0.members, $0.removed) }
    if token.isCurrent { return members.map { ($0, nil) } }
    let known = members.compactMap { member in
      member.generation(of: token).map { (member: member, generation: Optional($0)) }
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
    let others = members.filter { $0.model !== model }
    return QueryGenerationToken(
      [snapshot.token] + others.compactMap { try? $0.store.snapshot().token })
  }

  /// Returns snapshots of the generations that a token covers.
  ///
  /// - Throws: As ``generations(of:)``; `generationExpired`.
  func snapshots(
    at token: QueryGenerationToken
  ) throws -> [(member: Member, snapshot: Snapshot)] {
    try generations(of: token).map { member, generation in
      (member, try generation.map { try member.store.snapshot(at: $0) } ?? member.store.snapshot())
    }
  }
}

extension URL {
  /// The normalised location, which identifies a store.
  var storePlace: String {
    isFileURL ? resolvingSymlinksInPath().standardizedFileURL.path : absoluteString
  }
}
