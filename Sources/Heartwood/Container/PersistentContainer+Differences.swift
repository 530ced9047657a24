extension PersistentContainer {
  /// What became of the objects on the way from one generation to another, whichever is the newer.
  ///
  /// It compares the generations, and needs no history. A to-many relationship is a property that
  /// differs if its members do, or their order if it has one.
  ///
  /// - Parameters:
  ///   - source: Where the changes start; `.current` for the newest.
  ///   - target: Where they lead to; `.current` for the newest.
  /// - Returns: The changes in those stores that both name.
  /// - Throws: `generationExpired`; `foreignStore` if there is no such store, `removedStore` if
  ///   there was; `corrupt` or `io`.
  /// - Complexity: A few reads of each page that was written between the two, however large the
  ///   store is, and of two rows for each object that was updated. Memory for the changed objects.
  public func changes(
    from source: QueryGenerationToken, to target: QueryGenerationToken
  ) throws -> ChangeSet {
    let (sources, targets) = (try group.snapshots(at: source), try group.snapshots(at: target))
    let all = try sources.compactMap { member, source -> ChangeSet? in
      let target = targets.first { $0.member.model === member.model }?.snapshot
      return try target.map {
        try RowDifference.changes(in: member.store, from: source, to: $0, member.model)
      }
    }
    guard var changes = all.first else {
      throw StorageError(.foreignStore, "The two tokens are of different stores.")
    }
    for other in all.dropFirst() { changes.join(other) }
    return changes
  }

  /// Makes all objects what they were in a generation, as one new generation.
  ///
  /// Whatever was saved since is taken back: rows that were deleted are there again, with their
  /// IDs; those that were made since are gone. Indexes, relationships and the history follow. No
  /// callback is called, no delete rule followed, nothing validated: the store was like this.
  /// Contexts that have changed the same objects are in conflict, and none is told; merge what is
  /// returned, or the history.
  ///
  /// Of several stores, the one in which something differs.
  ///
  /// - Parameters:
  ///   - token: The generation to go back to.
  ///   - known: If given, nothing is done if anybody has changed an object since this generation.
  ///   - author: Who does it, for the history.
  /// - Returns: What was changed; the generation it has made, or a newer one if that is over.
  /// - Throws: `severalStores` if objects of more than one differ; `mergeConflict`, with one of the
  ///   objects that were changed since `known`; `unknownEntity` if objects were changed for which
  ///   the model has no class; `incompatibleSchema` if the generation was written with another
  ///   model; `generationExpired`, `foreignStore`; what kept the store from being
  ///   written. Nothing has changed then.
  /// - Complexity: As ``changes(from:to:)``, while other writers wait, and one row written for each
  ///   object that differs.
  @discardableResult
  public func revert(
    to token: QueryGenerationToken, unlessChangedSince known: QueryGenerationToken? = nil,
    author: String? = nil
  ) throws -> ChangeSet {
    let (member, target) = try differing(from: group.snapshots(at: token))
    let (store, model) = (member.store, member.model)
    let known = try known.map { try member.snapshot(at: $0) }
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

  /// The one store in which objects differ from what they were; one of them if there is none.
  private func differing(
    from all: [(member: StoreGroup.Member, snapshot: Snapshot)]
  ) throws -> (member: StoreGroup.Member, snapshot: Snapshot) {
    let changed =
      try all.count < 2
      ? all
      : all.filter { member, snapshot in
        var difference = RowDifference(member.model)
        try difference.take(member.store, from: member.store.snapshot(), to: snapshot)
        return !difference.isEmpty
      }
    guard changed.count < 2 else {
      let names = changed.map(\.member.name).joined(separator: ", ")
      throw ObjectGraphError(
        .severalStores,
        "Objects of several stores have changed: \(names). Reverting makes one generation of one "
          + "store; do it with a container of that only.")
    }
    guard let found = changed.first ?? all.first else {
      throw StorageError(.invalidArgument, "The container has no store any more.")
    }
    return found
  }

  private func requireUnchanged(
    _ transaction: WriteTransaction, _ model: StoreModel, since known: Snapshot
  ) throws {
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
