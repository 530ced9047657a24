import Synchronization

extension ManagedObjectContext {
  /// What becomes of a context's pin when it has saved.
  public enum GenerationAfterSave: Sendable {
    /// It is pinned to the generation that the save has made.
    case advance
    /// It is not pinned any more.
    case unpin
  }

  /// Which generation a context reads.
  enum Pin {
    /// The newest, at every read.
    case none
    /// The newest at the next read, and that one from then on.
    case atNextRead
    /// One, which the view keeps alive.
    case at(StoreView)
    /// What a transaction has made so far: the context is that of a ``MigrationStage``.
    case within(WriteTransaction, StoreView)
  }

  /// What names the generation the context is pinned to; `nil` if it reads the newest.
  ///
  /// ``QueryGenerationToken/current`` until the first read after it was asked for. Always `nil` in
  /// a context below another, which reads what that one does.
  public var queryGenerationToken: QueryGenerationToken? {
    confinement?.enter()
    defer { confinement?.leave() }
    for part in parts { part.dropSuspendedPin() }
    switch pin {
    case .none, .within: return nil
    case .atNextRead: return .current
    case .at:
      return QueryGenerationToken(
        parts.compactMap { part in
          guard case .at(let view) = part.pin, !part.model.isRemoved else { return nil }
          return view.snapshot?.token
        })
    }
  }

  /// Has the context read one generation from now on, whatever others write.
  ///
  /// Objects that were read already stay as they are until they are fetched again or refreshed;
  /// faults are read from the new generation. What is saved is written on top of the newest one.
  ///
  /// - Parameter token: `.current` for the newest at the next read; one of a context, possibly of
  ///   another process; `nil` to end it.
  /// - Throws: `generationExpired` if nobody has kept the generation; `removedStore` or
  ///   `foreignStore` if it is of none of the container's stores; `childContext` if this is a
  ///   context below another; `autoMergeNeedsCurrentGeneration` for a given one while the context
  ///   merges by itself.
  /// - Complexity: For each store one lock, if this process does not have the generation pinned.
  public func setQueryGenerationFrom(_ token: QueryGenerationToken?) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    guard parent == nil else {
      throw ObjectGraphError(
        .childContext,
        "A context below another reads what its parent does; pin the one at the top.")
    }
    defer { processPendingChanges() }
    if case .within = pin {
      throw ObjectGraphError(
        .childContext, "The context of a stage reads what its transaction has written so far.")
    }
    guard let token, !token.isCurrent else {
      for part in parts { part.pin = token == nil ? .none : .atNextRead }
      return
    }
    guard autoMerge == nil else {
      throw ObjectGraphError(
        .autoMergeNeedsCurrentGeneration,
        "A context that merges by itself goes on with the newest generation. Pin it to .current, "
          + "or turn automaticallyMergesChangesFromParent off.")
    }
    try pin(to: token)
  }

  /// Whether the context, or the one at the top, reads one generation whatever others write.
  var isPinned: Bool {
    if let parent { return parent.isPinned }
    if case .at = pin { return true }
    return false
  }

  /// Has a pin that the store has given up, because it was suspended, be made again.
  private func dropSuspendedPin() {
    if case .at(let view) = pin, !view.isCurrent { advance() }
  }

  /// The generation to read.
  func currentView() throws -> StoreView {
    try requirePresent()
    dropSuspendedPin()
    switch pin {
    case .at(let view), .within(_, let view): return view
    case .none, .atNextRead: break
    }
    if case .atNextRead = pin {
      try whole.pinNewest()
      return try currentView()
    }
    let snapshot: Snapshot
    do {
      snapshot = try store.snapshot()
    } catch {
      // It may have been removed, and closed, since this was looked at.
      try requirePresent()
      throw error
    }
    if let recentView, recentView.snapshot?.generation == snapshot.generation,
      recentView.isCurrent
    {
      recentView.wasUsed.store(true, ordering: .relaxed)
      return recentView
    }
    let view = try StoreView(snapshot, model)
    recentView = view
    model.recentViews.hold(view)
    return view
  }

  /// Has a pinned context read the newest generation from now on, and stay with that.
  func advance() {
    for part in whole.parts {
      if case .at = part.pin { part.pin = .atNextRead }
    }
  }

  /// Moves a pin to a generation this context has just made.
  func advance(to saved: Generation) {
    switch pin {
    case .none, .within: return
    case .atNextRead, .at: break
    }
    switch whole.generationAfterSave {
    case .unpin: for part in whole.parts { part.pin = .none }
    case .advance:
      // If others have committed since and it is gone already, the next read finds what they left.
      do { try whole.pinNewest((self, saved)) } catch { advance() }
    }
  }

  /// Runs `body` in a transaction on the newest generation, which must still be of the model.
  ///
  /// - Returns: The generation this makes.
  /// - Throws: What `body` throws, with nothing changed; `incompatibleSchema` if the store has
  ///   another model now; what kept the store from being written.
  func write(_ body: (WriteTransaction) throws -> Void) throws -> Generation {
    if case .within(var transaction, _) = pin {
      do {
        try transaction.savepoint { try body($0) }
      } catch {
        // Keyspaces that were made in vain must not be used any more.
        pin = .within(transaction, StoreView(transaction, model))
        throw error
      }
      return Generation(frame: transaction.base)
    }
    try requirePresent()
    do {
      return try store.write { transaction in
        // It may have waited.
        try requirePresent()
        try model.requireCurrent(.transaction(transaction.keyspace(StoredModel.keyspace)))
        try body(transaction)
      }
    } catch {
      // As above.
      try requirePresent()
      throw error
    }
  }

  /// Runs the body of a stage with a context that reads and writes within a transaction, and saves
  /// what that has left.
  static func run(
    _ body: (ManagedObjectContext) throws -> Void, _ store: Store, _ model: StoreModel,
    within transaction: WriteTransaction
  ) throws {
    let context = ManagedObjectContext(StoreGroup(.init(url: nil, store: store, model: model)))
    context.pin = .within(transaction, StoreView(transaction, model))
    // Who keeps it finds it empty, and the store of another model.
    defer {
      context.abandonAll()
      context.pin = .none
    }
    try body(context)
    try context.save()
  }
}
