extension PersistentContainer {
  /// Returns the changes from one generation to another.
  ///
  /// The target may be older than the source. The method compares the generations directly instead
  /// of using the history. A to-many relationship is included if its members differ. An ordered
  /// relationship is also included if the order of its members differs.
  ///
  /// - Parameters:
  ///   - source: The starting generation, or `.current` for the newest generation.
  ///   - target: The final generation, or `.current` for the newest generation.
  /// - Returns: The changes in the stores that both tokens cover.
  /// - Throws: `generationExpired` if a generation is no longer retained; `foreignStore` if a
  ///   token's store is not in the container; `removedStore` if that store was removed; `corrupt`
  ///   or `io` if a store cannot be read.
  /// - Complexity: The cost does not depend on the size of the store. The method reads two rows for
  ///   each updated object. Each database page that was written between the two generations is read
  ///   a few times. Memory use grows with the number of changed objects.
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
      throw StorageError(
        .foreignStore,
        "The two tokens have no store in common. Use two tokens from the same store.")
    }
    for other in all.dropFirst() { changes.merge(other) }
    return changes
  }

  /// Reverts all objects to their state in a given generation, creating one new generation.
  ///
  /// All changes saved since that generation are reverted: deleted rows are restored with their
  /// IDs, and rows inserted since then are deleted. Indexes, relationships and the history are
  /// updated. Callbacks, delete rules and validation do not run, because the store has already been
  /// in this state.
  ///
  /// If a context has unsaved changes to the same objects, its next save detects a conflict.
  /// Contexts are not notified. To update a context, merge the returned changes or the history into
  /// it.
  ///
  /// If the container has several stores, only one of them may differ from the generation, and only
  /// that store is reverted.
  ///
  /// - Parameters:
  ///   - token: The generation to revert to.
  ///   - known: The newest generation whose changes may be reverted, or `nil` to revert all
  ///     changes. If any object has changed since this generation, the method throws.
  ///   - author: The author of the change, for the history.
  /// - Returns: The changes made by the call. Their ``ChangeSet/generation`` is the generation
  ///   created by the call or, if it no longer exists, the newest generation.
  /// - Throws: `multipleStores` if objects of more than one store differ; `mergeConflict` with the
  ///   ID of one changed object if objects have changed since `known`; `unknownEntity` if the model
  ///   has no class for a changed object; `incompatibleSchema` if the generation was written with
  ///   another model; `generationExpired` or `foreignStore` if the token cannot be used; any error
  ///   from writing the store. If the method throws, nothing has changed.
  /// - Complexity: The same as ``changes(from:to:)``, plus one row write for each object that
  ///   differs. Other writers wait until the method returns.
  @discardableResult
  public func revert(
    to token: QueryGenerationToken, unlessChangedSince known: QueryGenerationToken? = nil,
    author: String? = nil
  ) throws -> ChangeSet {
    let (attached, target) = try differing(from: group.snapshots(at: token))
    let (store, model) = (attached.store, attached.model)
    let known = try known.map { try attached.snapshot(at: $0) }
    var changes = ChangeSet(generation: .current, stores: [])
    let generation = try store.write { transaction in
      if let known { try requireUnchanged(transaction, model, since: known) }
      let request = try RevertRequest(
        transaction, to: target, model, HistoryWriter.Origin(author: author))
      changes = try request.run()
    }
    let made = try? store.snapshot(at: generation)
    changes.generation = group.token(try made ?? store.snapshot(), of: model)
    return changes
  }

  /// Returns the only store whose objects differ from its snapshot, or an arbitrary store if there
  /// are no differences.
  ///
  /// - Throws: `multipleStores` if the objects of several stores differ.
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
        "Objects have changed in several stores: \(names). A revert can change only one store. To "
          + "revert one of these stores, use a container that has no other stores.")
    }
    guard let found = changed.first ?? all.first else {
      throw StorageError(.invalidArgument, "The container has no stores. Add a store first.")
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
      "Objects have changed since the generation that was passed as `unlessChangedSince`. Review "
        + "the changes, and then try again with a newer generation.",
      objectID: difference.numbers.first.map { ManagedObjectID($0, model.space) })
  }
}
