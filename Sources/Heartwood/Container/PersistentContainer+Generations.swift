public import Foundation

/// A generation that has a name, and is kept until that is released.
public struct KeptGeneration: Hashable, Sendable {
  /// The name.
  public let name: String
  /// What contexts can be pinned to.
  public let token: QueryGenerationToken
  /// When it was committed.
  public let date: Date
}

extension PersistentContainer {
  /// Pins what a token names.
  func snapshot(at token: QueryGenerationToken) throws -> Snapshot {
    guard let generation = token.generation else { return try store.snapshot() }
    return try store.snapshot(at: generation)
  }

  // MARK: Names

  /// Keeps a generation by a name: it stays readable until ``releaseGeneration(_:)``, though no
  /// context is pinned to it, also when the program has ended.
  ///
  /// What that costs is bounded: the store keeps at most one older version of each page.
  ///
  /// ```swift
  /// try container.keepGeneration(.current, as: "before-import")
  /// ```
  ///
  /// - Parameters:
  ///   - token: The generation; `.current` for the newest one.
  ///   - name: 1 to 255 bytes of UTF-8. It is no error if it keeps the same generation already.
  /// - Throws: `generationExpired`, `foreignStore`; `invalidArgument` if the name keeps another
  ///   generation; `tooLarge`; what kept the store from being written.
  /// - Complexity: Durable when it returns: three syncs at most.
  public func keepGeneration(_ token: QueryGenerationToken, as name: String) throws {
    let snapshot = try snapshot(at: token)
    try store.keep(snapshot.generation, as: name)
    withExtendedLifetime(snapshot) {}
  }

  /// What names the generation that is kept by a name; `nil` if none is.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: The list of kept generations is read, and the generation pinned.
  public func keptGeneration(_ name: String) throws -> QueryGenerationToken? {
    guard let generation = try store.keptGenerations()[name] else { return nil }
    return QueryGenerationToken(generation: try store.snapshot(at: generation).token)
  }

  /// Ends the keeping of a generation; nothing happens if the name keeps none.
  ///
  /// Contexts that are pinned to it stay so.
  ///
  /// - Throws: What kept the store from being written.
  /// - Complexity: Two syncs.
  public func releaseGeneration(_ name: String) throws { try store.release(name) }

  /// The generations that are kept by name, the oldest first.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: The list of kept generations is read, and each of them pinned.
  public var keptGenerations: [KeptGeneration] {
    get throws {
      let all = try store.keptGenerations().sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      return try all.map { name, generation in
        let snapshot = try store.snapshot(at: generation)
        return KeptGeneration(
          name: name, token: QueryGenerationToken(generation: snapshot.token), date: snapshot.date)
      }
    }
  }

  // MARK: Reading what was

  /// The newest generation that was there at a time, among those that are kept by name or held by
  /// somebody; `nil` if all of them are newer.
  ///
  /// So it need not be the last one before that time: what nobody holds is not kept. The token
  /// keeps nothing either; it is good as long as the generation is.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: As `Store.liveGenerations`; generations are pinned until one is old enough.
  public func generation(at date: Date) throws -> QueryGenerationToken? {
    try snapshot(at: date).map { QueryGenerationToken(generation: $0.token) }
  }

  private func snapshot(at date: Date) throws -> Snapshot? {
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
  /// - Throws: `generationExpired` or `foreignStore`.
  public func newContext(
    pinnedTo token: QueryGenerationToken
  ) throws -> sending ManagedObjectContext {
    let context = ManagedObjectContext(store: store, model: model)
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
  /// - Throws: `generationExpired` or `foreignStore`; what `body` throws.
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
    guard let snapshot = try snapshot(at: date) else {
      throw StorageError(
        .generationExpired,
        "Nobody has kept a generation as old as \(date). Give those a name that are to be read "
          + "later.")
    }
    defer { withExtendedLifetime(snapshot) {} }
    return try read(at: QueryGenerationToken(generation: snapshot.token), body)
  }

  // MARK: Differences

  /// What became of the objects on the way from one generation to another, whichever is the newer.
  ///
  /// It compares the generations, and needs no history. A to-many relationship is a property that
  /// differs if its members do, or their order if it has one.
  ///
  /// - Parameters:
  ///   - source: Where the changes start; `.current` for the newest.
  ///   - target: Where they lead to; `.current` for the newest.
  /// - Throws: `generationExpired`, `foreignStore`; `corrupt` or `io`.
  /// - Complexity: A few reads of each page that was written between the two, however large the
  ///   store is, and of two rows for each object that was updated. Memory for the changed objects.
  public func changes(
    from source: QueryGenerationToken, to target: QueryGenerationToken
  ) throws -> ChangeSet {
    let (source, target) = (try snapshot(at: source), try snapshot(at: target))
    return try RowDifference.changes(in: store, from: source, to: target, model)
  }

  /// Makes all objects what they were in a generation, as one new generation.
  ///
  /// Whatever was saved since is taken back: rows that were deleted are there again, with their
  /// IDs; those that were made since are gone. Indexes, relationships and the history follow. No
  /// callback is called, no delete rule followed, nothing validated: the store was like this.
  /// Contexts that have changed the same objects are in conflict, and none is told; merge what is
  /// returned, or the history.
  ///
  /// - Parameters:
  ///   - token: The generation to go back to.
  ///   - known: If given, nothing is done if anybody has changed an object since this generation.
  ///   - author: Who does it, for the history.
  /// - Returns: What was changed; the generation it has made, or a newer one if that is over.
  /// - Throws: `mergeConflict`, with one of the objects that were changed since `known`;
  ///   `unknownEntity` if objects were changed for which the model has no class;
  ///   `generationExpired`, `foreignStore`; what kept the store from being written. Nothing has
  ///   changed then.
  /// - Complexity: As ``changes(from:to:)``, while other writers wait, and one row written for each
  ///   object that differs.
  @discardableResult
  public func revert(
    to token: QueryGenerationToken, unlessChangedSince known: QueryGenerationToken? = nil,
    author: String? = nil
  ) throws -> ChangeSet {
    let target = try snapshot(at: token)
    let known = try known.map { try snapshot(at: $0) }
    var changes: ChangeSet?
    let generation = try store.write { transaction in
      if let known { try requireUnchanged(transaction, since: known) }
      var request = try RevertRequest(
        transaction, to: target, model, HistoryWriter.Origin(author: author))
      try request.run()
      changes = request.changes
    }
    guard var changes else { preconditionFailure("a transaction that ran has changes") }
    let made = try? store.snapshot(at: generation)
    changes.generation = QueryGenerationToken(generation: try (made ?? store.snapshot()).token)
    return changes
  }

  private func requireUnchanged(_ transaction: WriteTransaction, since known: Snapshot) throws {
    var difference = RowDifference(model)
    try transaction.changes(to: known) { try difference.note($0) }
    guard !difference.isEmpty else { return }
    throw ObjectGraphError(
      .mergeConflict,
      "Objects were changed since the generation that was to be the newest. See what has changed, "
        + "and revert again.",
      objectID: difference.numbers.first.map { ManagedObjectID($0, model.space) })
  }
}
