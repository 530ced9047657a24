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
    dropSuspendedPin()
    switch pin {
    case .none, .within: return nil
    case .atNextRead: return .current
    case .at(let view): return QueryGenerationToken(generation: view.snapshot?.token)
    }
  }

  /// Has the context read one generation from now on, whatever others write.
  ///
  /// Objects that were read already stay as they are until they are fetched again or refreshed;
  /// faults are read from the new generation. What is saved is written on top of the newest one.
  ///
  /// - Parameter token: `.current` for the newest at the next read; one of a context, possibly of
  ///   another process; `nil` to end it.
  /// - Throws: `generationExpired` if nobody has kept the generation, `foreignStore` if it is of
  ///   another store; `childContext` if this is a context below another;
  ///   `autoMergeNeedsCurrentGeneration` for a given one while the context merges by itself.
  /// - Complexity: One lock, if this process does not have the generation pinned.
  public func setQueryGenerationFrom(_ token: QueryGenerationToken?) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    guard parent == nil else {
      throw ObjectGraphError(
        .childContext,
        "A context below another reads what its parent does; pin the one at the top.")
    }
    if case .within = pin {
      throw ObjectGraphError(
        .childContext, "The context of a stage reads what its transaction has written so far.")
    }
    guard let token else { return pin = .none }
    guard let generation = token.generation else { return pin = .atNextRead }
    guard autoMerge == nil else {
      throw ObjectGraphError(
        .autoMergeNeedsCurrentGeneration,
        "A context that merges by itself goes on with the newest generation. Pin it to .current, "
          + "or turn automaticallyMergesChangesFromParent off.")
    }
    pin = .at(try StoreView(try store.snapshot(at: generation), model))
  }

  /// Whether the context, or the one at the top, reads one generation whatever others write.
  var isPinned: Bool {
    if let parent { return parent.isPinned }
    if case .at = pin { return true }
    return false
  }

  /// Has a pin that the store has given up, because it was suspended, be made again.
  private func dropSuspendedPin() {
    if case .at(let view) = pin, !view.isCurrent { pin = .atNextRead }
  }

  /// The generation to read.
  func currentView() throws -> StoreView {
    dropSuspendedPin()
    switch pin {
    case .at(let view), .within(_, let view): return view
    case .none, .atNextRead: break
    }
    let snapshot = try store.snapshot()
    if case .atNextRead = pin {
      let view = try StoreView(snapshot, model)
      pin = .at(view)
      return view
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
    if case .at = pin { pin = .atNextRead }
  }

  /// Moves a pin to a generation this context has just made.
  func advance(to saved: Generation) {
    switch pin {
    case .none, .within: return
    case .atNextRead, .at: break
    }
    switch generationAfterSave {
    case .unpin: pin = .none
    case .advance:
      // If others have committed since and it is gone already, the next read finds what they left.
      pin = (try? StoreView(store.snapshot(at: saved), model)).map { .at($0) } ?? .atNextRead
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
    return try store.write { transaction in
      try model.requireCurrent(.transaction(transaction.keyspace(StoredModel.keyspace)))
      try body(transaction)
    }
  }

  /// Runs the body of a stage with a context that reads and writes within a transaction, and saves
  /// what that has left.
  static func run(
    _ body: (ManagedObjectContext) throws -> Void, _ store: Store, _ model: StoreModel,
    within transaction: WriteTransaction
  ) throws {
    let context = ManagedObjectContext(store: store, model: model)
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
