public import Foundation

/// A named generation, which is retained until its name is released.
public struct NamedGeneration: Hashable, Sendable {
  /// The name of the generation.
  public let name: String
  /// A token for pinning contexts to the generation.
  public let token: QueryGenerationToken
  /// The time of the commit that created the generation or, if the generation covers several
  /// stores, the time of the latest of their commits.
  public let date: Date
}

extension PersistentContainer {
  // MARK: Names

  /// Gives a name to a generation.
  ///
  /// The generation then stays readable until ``releaseGeneration(_:)`` is called, even if no
  /// context is pinned to it, and even after the program has ended. The required disk space is
  /// bounded, because the store keeps at most one older version of each database page for each
  /// name. If the token covers several stores, either all stores retain their generations under the
  /// name, or none of them do.
  ///
  /// ```swift
  /// try container.keepGeneration(.current, as: "before-import")
  /// ```
  ///
  /// - Parameters:
  ///   - token: The generation, or `.current` for the newest generation.
  ///   - name: The name, which must be 1 to 255 bytes long in UTF-8. The generation may already
  ///     have this name.
  /// - Throws: `generationExpired`, `foreignStore`, `removedStore`; `invalidArgument` if another
  ///   generation has the name; `tooLarge` if the name is empty or too long; any error from writing
  ///   a store.
  /// - Complexity: At most three syncs for each store. The name is durable when the method returns.
  public func keepGeneration(_ token: QueryGenerationToken, as name: String) throws {
    let all = try group.snapshots(at: token)
    defer { withExtendedLifetime(all) {} }
    var done: [Store] = []
    do {
      for (attached, snapshot) in all {
        let isNew = try attached.store.namedGenerations()[name] == nil
        try attached.store.keep(snapshot.generation, as: name)
        if isNew { done.append(attached.store) }
      }
    } catch {
      for store in done { try? store.release(name) }
      throw error
    }
  }

  /// Returns the token of a named generation, or `nil` if no generation has the name.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Reads the list of named generations and pins the generation.
  public func keptGeneration(_ name: String) throws -> QueryGenerationToken? {
    let tokens = try group.attachedStores.compactMap { attached in
      try attached.store.namedGenerations()[name].map { try attached.store.snapshot(at: $0).token }
    }
    return tokens.isEmpty ? nil : QueryGenerationToken(tokens)
  }

  /// Releases the generation with the given name, if there is one.
  ///
  /// Contexts that are pinned to the generation remain pinned.
  ///
  /// - Throws: Any error from writing the store.
  /// - Complexity: At most two syncs for each store.
  public func releaseGeneration(_ name: String) throws {
    for attached in group.attachedStores { try attached.store.release(name) }
  }

  /// The named generations, oldest first.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Reads the list of named generations and pins each of them.
  public var namedGenerations: [NamedGeneration] {
    get throws {
      var all: [String: [Snapshot]] = [:]
      for attached in group.attachedStores {
        for (name, generation) in try attached.store.namedGenerations() {
          all[name, default: []].append(try attached.store.snapshot(at: generation))
        }
      }
      let kept = all.compactMap { name, snapshots in
        snapshots.max { $0.date < $1.date }.map { last in
          let token = QueryGenerationToken(snapshots.map(\.token))
          let named = NamedGeneration(name: name, token: token, date: last.date)
          return (order: last.generation, named)
        }
      }
      return kept.sorted { ($0.1.date, $0.order, $0.1.name) < ($1.1.date, $1.order, $1.1.name) }
        .map(\.1)
    }
  }

  // MARK: Reading the past

  /// Returns the newest retained generation that existed at a given time, or `nil` if all retained
  /// generations are newer.
  ///
  /// A generation is retained if it is the newest one, has a name, or is held by a process. Other
  /// generations are discarded, so the result is not necessarily the last generation before the
  /// given time. The token itself does not retain the generation. The token becomes invalid when
  /// the generation is discarded. If all retained generations of a store are newer than the given
  /// time, the token does not cover that store.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: The same as `Store.liveGenerations`. The method also pins generations, newest
  ///   first, until it finds one that is old enough.
  public func generation(at date: Date) throws -> QueryGenerationToken? {
    let snapshots = try group.attachedStores.compactMap { try snapshot(at: date, of: $0.store) }
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
        // Skip the generation, because it was released after the list of generations was read.
        continue
      }
    }
    return nil
  }

  /// Creates a context that is pinned to a generation.
  ///
  /// The context can change objects like any other context. Its saves are applied to the newest
  /// generation.
  ///
  /// - Throws: `generationExpired`, `foreignStore` or `removedStore`.
  public func newContext(
    pinnedTo token: QueryGenerationToken
  ) throws -> sending ManagedObjectContext {
    let context = ManagedObjectContext(group)
    try context.setQueryGenerationFrom(token)
    return context
  }

  /// Runs `body` with a temporary context that is pinned to a generation.
  ///
  /// All objects of a context belong to one generation, so reading another generation requires
  /// another context. Objects must not leave `body`; return IDs or values.
  ///
  /// ```swift
  /// let before = try container.read(at: token) { try $0.fetch(request).map(\.name) }
  /// ```
  ///
  /// - Throws: `generationExpired`, `foreignStore`, `removedStore`, or any error that `body`
  ///   throws.
  public func read<R: Sendable>(
    at token: QueryGenerationToken, _ body: (ManagedObjectContext) throws -> R
  ) throws -> R {
    let context = try newContext(pinnedTo: token)
    defer { withExtendedLifetime(context) {} }
    return try context.performAndWait { try body(context) }
  }

  /// Runs `body` with a temporary context pinned to the generation that ``generation(at:)``
  /// returns.
  ///
  /// - Throws: `generationExpired` if all retained generations are newer; the error that `body`
  ///   throws.
  public func read<R: Sendable>(
    at date: Date, _ body: (ManagedObjectContext) throws -> R
  ) throws -> R {
    let snapshots = try group.attachedStores.compactMap { try snapshot(at: date, of: $0.store) }
    guard !snapshots.isEmpty else {
      throw StorageError(
        .generationExpired,
        "No generation from \(date) or earlier is retained. Pass a later date. To keep "
          + "future generations readable, name them with `keepGeneration`.")
    }
    defer { withExtendedLifetime(snapshots) {} }
    return try read(at: QueryGenerationToken(snapshots.map(\.token)), body)
  }
}
