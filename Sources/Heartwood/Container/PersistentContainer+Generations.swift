public import Foundation

/// A generation that has a name, and is kept until that is released.
public struct KeptGeneration: Hashable, Sendable {
  /// The name.
  public let name: String
  /// What contexts can be pinned to.
  public let token: QueryGenerationToken
  /// When it was committed; of several stores, the last.
  public let date: Date
}

extension PersistentContainer {
  // MARK: Names

  /// Keeps a generation by a name: it stays readable until ``releaseGeneration(_:)``, though no
  /// context is pinned to it, also when the program has ended.
  ///
  /// What that costs is bounded: the store keeps at most one older version of each page. Of several
  /// stores, each that the token names keeps its generation by the same name, or none does.
  ///
  /// ```swift
  /// try container.keepGeneration(.current, as: "before-import")
  /// ```
  ///
  /// - Parameters:
  ///   - token: The generation; `.current` for the newest one.
  ///   - name: 1 to 255 bytes of UTF-8. It is no error if it keeps the same generation already.
  /// - Throws: `generationExpired`, `foreignStore`, `removedStore`; `invalidArgument` if the name
  ///   keeps another generation; `tooLarge`; what kept a store from being written.
  /// - Complexity: Durable when it returns: three syncs at most for each store.
  public func keepGeneration(_ token: QueryGenerationToken, as name: String) throws {
    let all = try group.snapshots(at: token)
    defer { withExtendedLifetime(all) {} }
    var done: [Store] = []
    do {
      for (member, snapshot) in all {
        let isNew = try member.store.keptGenerations()[name] == nil
        try member.store.keep(snapshot.generation, as: name)
        if isNew { done.append(member.store) }
      }
    } catch {
      for store in done { try? store.release(name) }
      throw error
    }
  }

  /// What names the generation that is kept by a name; `nil` if none is.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: The list of kept generations is read, and the generation pinned.
  public func keptGeneration(_ name: String) throws -> QueryGenerationToken? {
    let tokens = try group.members.compactMap { member in
      try member.store.keptGenerations()[name].map { try member.store.snapshot(at: $0).token }
    }
    return tokens.isEmpty ? nil : QueryGenerationToken(tokens)
  }

  /// Ends the keeping of a generation; nothing happens if the name keeps none.
  ///
  /// Contexts that are pinned to it stay so.
  ///
  /// - Throws: What kept the store from being written.
  /// - Complexity: Two syncs.
  public func releaseGeneration(_ name: String) throws {
    for member in group.members { try member.store.release(name) }
  }

  /// The generations that are kept by name, the oldest first.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: The list of kept generations is read, and each of them pinned.
  public var keptGenerations: [KeptGeneration] {
    get throws {
      var all: [String: [Snapshot]] = [:]
      for member in group.members {
        for (name, generation) in try member.store.keptGenerations() {
          all[name, default: []].append(try member.store.snapshot(at: generation))
        }
      }
      let kept = all.compactMap { name, snapshots -> (order: Generation, KeptGeneration)? in
        guard let last = snapshots.max(by: { $0.date < $1.date }) else { return nil }
        let token = QueryGenerationToken(snapshots.map(\.token))
        return (last.generation, KeptGeneration(name: name, token: token, date: last.date))
      }
      return kept.sorted { ($0.1.date, $0.order, $0.1.name) < ($1.1.date, $1.order, $1.1.name) }
        .map(\.1)
    }
  }

  // MARK: Reading what was

  /// The newest generation that was there at a time, among those that are kept by name or held by
  /// somebody; `nil` if all of them are newer.
  ///
  /// So it need not be the last one before that time: what nobody holds is not kept. The token
  /// keeps nothing either; it is good as long as the generation is. A store of which all is newer
  /// is not in it.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: As `Store.liveGenerations`; generations are pinned until one is old enough.
  public func generation(at date: Date) throws -> QueryGenerationToken? {
    let snapshots = try group.members.compactMap { try snapshot(at: date, of: $0.store) }
    return snapshots.isEmpty ? nil : QueryGenerationToken(snapshots.map(\.token))
  }

  private func snapshot(at date: Date, of store: Store) throws -> Snapshot? {
    let newest = try store.snapshot()
    if newest.date <= date { return newest }
    for live in try store.liveGenerations().reversed() {
      do {
        let snapshot = try store.snapshot(at: live.generation)
        if snapshot.date <= date { return snapshot }
      } catch let error as StorageError where error.kind == .generationExpired {
        // Whoever held it has let go of it just now.
        continue
      }
    }
    return nil
  }

  /// A context of its own that is pinned to a generation.
  ///
  /// Like any other it can change objects: what is saved is written on top of the newest.
  ///
  /// - Throws: `generationExpired`, `foreignStore` or `removedStore`.
  public func newContext(
    pinnedTo token: QueryGenerationToken
  ) throws -> sending ManagedObjectContext {
    let context = ManagedObjectContext(group)
    try context.setQueryGenerationFrom(token)
    return context
  }

  /// Runs `body` with a context that shows one generation, and ends with it.
  ///
  /// The objects of a context are of one generation, so those of another have a context of their
  /// own. They end with it; return IDs or values.
  ///
  /// ```swift
  /// let before = try container.read(at: token) { try $0.fetch(request).map(\.name) }
  /// ```
  ///
  /// - Throws: `generationExpired`, `foreignStore` or `removedStore`; what `body` throws.
  public func read<R: Sendable>(
    at token: QueryGenerationToken, _ body: (ManagedObjectContext) throws -> R
  ) throws -> R {
    let context = try newContext(pinnedTo: token)
    defer { withExtendedLifetime(context) {} }
    return try context.performAndWait { try body(context) }
  }

  /// Runs `body` with a context that shows what ``generation(at:)`` finds for a time.
  ///
  /// - Throws: `generationExpired` if all that can be read is newer; what `body` throws.
  public func read<R: Sendable>(
    at date: Date, _ body: (ManagedObjectContext) throws -> R
  ) throws -> R {
    let snapshots = try group.members.compactMap { try snapshot(at: date, of: $0.store) }
    guard !snapshots.isEmpty else {
      throw StorageError(
        .generationExpired,
        "Nobody has kept a generation as old as \(date). Give those a name that are to be read "
          + "later.")
    }
    defer { withExtendedLifetime(snapshots) {} }
    return try read(at: QueryGenerationToken(snapshots.map(\.token)), body)
  }
}
