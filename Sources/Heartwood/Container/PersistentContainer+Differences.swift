extension PersistentContainer {
  /// Returns the changes of objects from one generation to another, which may be the older one.
  ///
  /// It compares the generations, and does not use the history. A to-many relationship differs if
  /// its members do, or their order if it is ordered.
  ///
  /// - Parameters:
  ///   - source: The starting generation; `.current` for the newest.
  ///   - target: The final generation; `.current` for the newest.
  /// - Returns: The changes in the stores that both tokens cover.
  /// - Throws: `generationExpired`; `foreignStore` if the container has no such store,
  ///   `removedStore` if it was removed; `corrupt` or `io`.
  /// - Complexity: A few reads of each page that was written between the two generations,
  ///   independent of the size of the store, plus two row reads for each updated object. Memory for
  ///   the changed objects.
  public func changes(
    from source: QueryGenerationToken, to target: QueryGenerationToken
  ) throws -> ChangeSet {
    let (sources, targets) = (try group.snapshots(at: source), try group.snapshots(at: target))
    let all = try sources.compactMap { attached, source -> ChangeSet? in
      let target = targets.first { $0.attached.model === attached.model }?.snapshot
      return try target.map {
        try RowDifference.changes(in: attached.store, from: source, to: $0, attached.model)
      }
    }
    guard var changes = all.first else {
      throw StorageError(.foreignStore, "The two tokens belong to different stores.")
    }
    for other in all.dropFirst() { changes.merge(other) }
    return changes
  }

  /// Reverts all objects to a generation, as one new generation.
  ///
  /// All changes saved since then are undone: deleted rows exist again, with their IDs; rows
  /// inserted since are deleted. Indexes, relationships and the history are updated. No callbacks,
  /// delete rules or validation apply, since the store was in this state before. Contexts with
  /// changes of the same objects are in conflict. Contexts are not notified; merge the returned
  /// changes, or the history.
  ///
  /// With several stores, it reverts the one store that differs.
  ///
  /// - Parameters:
  ///   - token: The generation to revert to.
  ///   - known: If given, the call fails if any object was changed since this generation.
  ///   - author: The author of the change, for the history.
  /// - Returns: The changes, with the generation that the call created, or a newer one if that no
  ///   longer exists.
  /// - Throws: `multipleStores` if objects of more than one store differ; `mergeConflict`, with one
  ///   of the objects that changed since `known`; `unknownEntity` if objects changed for which the
  ///   model has no class; `incompatibleSchema` if the generation was written with another model;
  ///   `generationExpired`, `foreignStore`; errors of writing the store. Nothing has changed then.
  /// - Complexity: As ``changes(from:to:)``, while other writers wait, plus one row write for each
  ///   object that differs.
  @discardableResult
  public func revert(
    to token: QueryGenerationToken, unlessChangedSince known: QueryGenerationToken? = nil,
    author: String? = nil
  ) throws -> ChangeSet {
    let (attached, target) = try differing(from: group.snapshots(at: token))
    let (store, model) = (attached.store, attached.model)
    let known = try known.map { try attached.snapshot(at: $0) }
    var changes: ChangeSet?
    let generation = try store.write { transaction in
      if let known { try requireUnchanged(transaction, model, since: known) }
      let request = try RevertRequest(
        transaction, to: target, model, HistoryWriter.Origin(author: author))
      changes = try request.run()
    }
    guard var changes else { preconditionFailure("a transaction that ran has changes") }
    let made = try? store.snapshot(at: generation)
    changes.generation = group.token(try made ?? store.snapshot(), of: model)
    return changes
  }

  /// Returns the one store in which objects differ; any store if there is none.
  private func differing(
    from all: [(attached: StoreGroup.AttachedStore, snapshot: Snapshot)]
  ) throws -> (attached: StoreGroup.AttachedStore, snapshot: Snapshot) {
    let changed =
      try all.count < 2
      ? all
      : all.filter { attached, snapshot in
        var difference = RowDifference(attached.model)
        try difference.recordChanges(
          in: attached.store, from: attached.store.snapshot(), to: snapshot)
        return !difference.isEmpty
      }
    guard changed.count < 2 else {
      let names = changed.map(\.attached.name).joined(separator: ", ")
      throw ObjectGraphError(
        .multipleStores,
        "Objects of several stores have changed: \(names). A revert changes one "
          + "store only. Use a container with only that store.")
    }
    guard let found = changed.first ?? all.first else {
      throw StorageError(.invalidArgument, "The container no longer has any store.")
    }
    return found
  }

  private func requireUnchanged(
    _ transaction: WriteTransaction, _ model: StoreModel, since known: Snapshot
  ) throws {
    var difference = RowDifference(model)
    try transaction.changes(to: known) { try difference.record($0) }
    guard !difference.isEmpty else { return }
    throw ObjectGraphError(
      .mergeConflict,
      "Objects were changed since the generation given as the newest. Examine the changes, "
        + "and revert again.",
      objectID: difference.numbers.first.map { ManagedObjectID($0, model.space) })
  }
}
