import Foundation
import Synchronization

/// The stores of a container, and which of them is the home of which class.
///
/// Stores come and go while contexts work, on other threads too: who asks gets those of that
/// moment.
final class StoreGroup: Sendable {
  /// A store of the container, or one that was.
  struct Member: Sendable {
    /// Where it is; `nil` for one in memory that the container was made with.
    let url: URL?
    let store: Store
    let model: StoreModel
    /// What its generations' tokens name it by.
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

    /// What people call it.
    var name: String { url?.storePlace ?? "in memory" }

    /// The generation of this store that a token names; the newest, if it names none at all.
    ///
    /// - Throws: `foreignStore` if it is of other stores only; `generationExpired`.
    func snapshot(at token: QueryGenerationToken) throws -> Snapshot {
      if token.isCurrent { return try store.snapshot() }
      if let generation = generation(of: token) { return try store.snapshot(at: generation) }
      throw StorageError(.foreignStore, "The token names no generation of the store \(name).")
    }

    /// The generation of this store that a token names.
    func generation(of token: QueryGenerationToken) -> GenerationToken? {
      token.generations.first { $0.store == identity }
    }
  }

  private struct Content {
    var members: [Member]
    /// What was removed, with another store in place of their own, so that this one can go.
    var removed: [Member] = []
    var watches: [UInt64: @Sendable () -> Void] = [:]
    var lastWatch: UInt64 = 0
  }

  /// The store the container was made with, though it may be removed.
  let first: Member
  private let content: Mutex<Content>
  /// Whether there ever was another store than the first, or not that one.
  var wasChanged: Bool { isChanged.load(ordering: .relaxed) }
  private let isChanged = Atomic(false)

  init(_ first: Member) {
    self.first = first
    content = Mutex(Content(members: [first]))
  }

  /// The stores there are, in the order in which they were added.
  var members: [Member] { content.withLock { $0.members } }

  /// The store of which something is true, or one that was removed.
  func member(where isWanted: (StoreModel) -> Bool) -> Member? {
    content.withLock { content in
      content.members.first { isWanted($0.model) } ?? content.removed.first { isWanted($0.model) }
    }
  }

  // MARK: Coming and going

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

  /// Takes a store out; whatever reads it from now on is told.
  ///
  /// - Throws: `invalidArgument` if there is none at the URL.
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

  /// Has `body` called when a store was added or removed, until ``endWatch(_:)`` for what this
  /// returns.
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

  /// Throws if one of the stores is at a URL, `invalidArgument`.
  func requireNew(_ url: URL) throws {
    guard let known = members.first(where: { $0.url?.storePlace == url.storePlace }) else { return }
    throw Self.known(known)
  }

  /// Throws `invalidArgument` if a store is one of those that are there, by another path perhaps.
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
      "The container has this store already: \(member.name). A copy counts as the same one, since "
        + "the IDs of its objects are the same.")
  }

  /// Throws `invalidModel` if the objects of a class, or of another of the same name, are in one of
  /// the stores.
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
          ? "The objects of \(entity.name) are in the store \(member.name) already; a class is in "
            + "one store."
          : "\(known.type) of the store \(member.name) and \(entity.type) are both called "
            + "\(entity.name).")
    }
  }

  /// What to throw if somebody wants to read a store that was removed.
  func removal(of model: StoreModel) -> ObjectGraphError {
    let name = member { $0 === model }?.name ?? "\(model.space.store)"
    return ObjectGraphError(
      .removedStore,
      "The store \(name) was removed from the container. Add it again, and fetch its objects anew.")
  }

  // MARK: Generations

  /// The stores with the generations of them that a token names; `nil` for the newest.
  ///
  /// - Throws: `removedStore` or `foreignStore` if it names none of them.
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
      "The token is of other stores than those of the container. Open the store "
        + "that it was taken from.")
  }

  /// What names a generation of one store, and the newest of all others.
  func token(_ snapshot: Snapshot, of model: StoreModel) -> QueryGenerationToken {
    let others = members.filter { $0.model !== model }
    return QueryGenerationToken(
      [snapshot.token] + others.compactMap { try? $0.store.snapshot().token })
  }

  /// The generations that a token names.
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
  /// What tells the places of stores from each other.
  var storePlace: String {
    isFileURL ? resolvingSymlinksInPath().standardizedFileURL.path : absoluteString
  }
}
