import Synchronization

extension ManagedObjectContext {
  /// The effect of a save on a context's pin.
  public enum GenerationAfterSave: Sendable {
    /// The pin moves to the generation created by the save.
    case advance
    /// The pin is removed.
    case unpin
  }

  /// The generation that a context reads.
  enum Pin {
    /// The newest generation at the time of each read.
    case none
    /// The newest generation at the time of the next read.
    ///
    /// That read pins the context to the generation.
    case atNextRead
    /// A fixed generation, which the associated view retains.
    case at(StoreView)
    /// The uncommitted state of a transaction, for the context of a ``MigrationStage`` or an
    /// import.
    case within(WriteTransaction, StoreView)
  }

  /// The token of the pinned generation, or `nil` if the context is not pinned and reads the newest
  /// generation.
  ///
  /// If the context will pin the newest generation at its next read, the token is
  /// ``QueryGenerationToken/current`` until then. In a child context, which reads its parent's
  /// generation, the token is always `nil`.
  public var queryGenerationToken: QueryGenerationToken? {
    confinement?.enter()
    defer { confinement?.leave() }
    for storeContext in storeContexts { storeContext.renewSuspendedPin() }
    switch pin {
    case .none, .within: return nil
    case .atNextRead: return .current
    case .at:
      return QueryGenerationToken(
        storeContexts.compactMap { storeContext in
          guard case .at(let view) = storeContext.pin, !storeContext.model.isRemoved else {
            return nil
          }
          return view.snapshot?.token
        })
    }
  }

  /// Pins the context to a generation, so that it does not see later saves by other contexts.
  ///
  /// Objects that were already read keep their values until they are fetched again or refreshed.
  /// Faults are read from the new generation. Saves are applied to the newest generation.
  ///
  /// - Parameter token: A token, which may come from another context or process; `.current` to pin
  ///   the newest generation at the next read; or `nil` to remove the pin.
  /// - Throws: `generationExpired` if the generation is no longer retained; `removedStore` or
  ///   `foreignStore` if the generation belongs to none of the container's stores; `childContext`
  ///   if this is a child context or the context of a migration stage;
  ///   `autoMergeNeedsCurrentGeneration` if the context merges automatically and `token` is a fixed
  ///   generation.
  /// - Complexity: Takes one lock for each store in which this process has not yet pinned the
  ///   generation.
  public func setQueryGenerationFrom(_ token: QueryGenerationToken?) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    guard parent == nil else {
      throw ObjectGraphError(
        .childContext,
        "A child context always reads its parent's generation. Pin the root context instead.")
    }
    defer { processPendingChanges() }
    if case .within = pin {
      throw ObjectGraphError(
        .childContext,
        "The context of a migration stage always reads from the stage's transaction. Do not pin "
          + "this context to a generation.")
    }
    guard let token, !token.isCurrent else {
      for storeContext in storeContexts { storeContext.pin = token == nil ? .none : .atNextRead }
      return
    }
    guard autoMerge == nil else {
      throw ObjectGraphError(
        .autoMergeNeedsCurrentGeneration,
        "A context always reads the newest generation while automaticallyMergesChangesFromParent "
          + "is true. Set that property to false before you pin the context, or pin the context to "
          + ".current.")
    }
    try pin(to: token)
  }

  /// A Boolean value that indicates whether the context is pinned to a generation.
  ///
  /// A child context is pinned if its topmost ancestor is pinned.
  var isPinned: Bool {
    if let parent { return parent.isPinned }
    if case .at = pin { return true }
    return false
  }

  /// Replaces a pin that was released because the store was suspended.
  ///
  /// The context then pins the newest generation at its next read.
  private func renewSuspendedPin() {
    if case .at(let view) = pin, !view.isCurrent { advance() }
  }

  /// Returns the view of the generation that the context reads.
  func currentView() throws -> StoreView {
    try requirePresent()
    renewSuspendedPin()
    switch pin {
    case .at(let view), .within(_, let view): return view
    case .none, .atNextRead: break
    }
    if case .atNextRead = pin {
      try rootContext.pinNewest()
      return try currentView()
    }
    let snapshot: Snapshot
    do {
      snapshot = try store.snapshot()
    } catch {
      // If the store has been removed and closed since the check above, throw `removedStore`
      // instead.
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
    recordRead(view)
    model.recentViews.hold(view)
    return view
  }

  /// Runs `body` while the context is temporarily pinned to `view`.
  ///
  /// A child context reads from its parent and cannot be pinned, so `body` runs without a pin.
  func reading<Result>(_ view: StoreView, _ body: () throws -> Result) rethrows -> Result {
    guard parent == nil else { return try body() }
    let before = (pin, lastingPin)
    lastingPin = lastingPin ?? pin
    pin = .at(view)
    defer { (pin, lastingPin) = before }
    return try body()
  }

  /// Updates ``newestRead`` if the generation of `view` is newer.
  func recordRead(_ view: StoreView) {
    if let generation = view.snapshot?.generation { recordRead(generation) }
  }

  /// Updates ``newestRead`` if `generation` is newer.
  func recordRead(_ generation: Generation) {
    newestRead = max(newestRead ?? generation, generation)
  }

  /// A Boolean value that indicates whether the context is pinned to a generation older than one
  /// that it has already read.
  ///
  /// In that case, unsaved changes may be based on the newer generation.
  var isPinnedToThePast: Bool {
    if let parent { return parent.isPinnedToThePast }
    guard case .at(let view) = pin, let newestRead else { return false }
    return view.snapshot.map { $0.generation < newestRead } ?? true
  }

  /// Returns whether a view shows the generation that the context reads.
  ///
  /// If the context is not pinned to a fixed generation, this is the newest generation that it has
  /// read so far.
  func reads(_ view: StoreView) -> Bool {
    switch pin {
    case .within: return true
    case .at(let pinned): return pinned.snapshot?.generation == view.snapshot?.generation
    case .none, .atNextRead: return newestRead == view.snapshot?.generation
    }
  }

  /// Makes a pinned context pin the newest generation at its next read.
  func advance() {
    for storeContext in rootContext.storeContexts {
      if case .at = storeContext.pin { storeContext.pin = .atNextRead }
    }
  }

  /// Removes the pin or moves it to the generation that a save has just created, depending on
  /// ``generationAfterSave``.
  func advance(to saved: Generation) {
    switch pin {
    case .none, .within: return
    case .atNextRead, .at: break
    }
    switch rootContext.generationAfterSave {
    case .unpin: unpin()
    case .advance:
      // If a later commit has already replaced the saved generation, that generation can no longer
      // be pinned. In that case, pin the newest generation at the next read.
      do { try rootContext.pinNewest((self, saved)) } catch { advance() }
    }
  }

  /// Removes the pin or moves it to the newest generation after a save that had nothing to write,
  /// depending on ``generationAfterSave``.
  func advanceWithoutSaving() {
    switch rootContext.generationAfterSave {
    case .unpin: unpin()
    case .advance: advance()
    }
  }

  private func unpin() {
    for storeContext in rootContext.storeContexts {
      switch storeContext.pin {
      case .none, .within: break
      case .atNextRead, .at: storeContext.pin = .none
      }
    }
  }

  /// Runs `body` in a transaction on the newest generation.
  ///
  /// The store must still have the model that this context uses. In a migration stage or an import,
  /// `body` runs in a savepoint of the enclosing transaction instead.
  ///
  /// - Returns: The generation created by the transaction.
  /// - Throws: The error that `body` throws; `incompatibleSchema` if the store's model has changed;
  ///   any error from writing the store. If `body` throws, its changes are rolled back.
  func write(_ body: (WriteTransaction) throws -> Void) throws -> Generation {
    if case .within(var transaction, _) = pin {
      do {
        try transaction.savepoint { try body($0) }
      } catch {
        // Replace the view, because it may cache keyspaces whose creation was rolled back.
        pin = .within(transaction, StoreView(transaction, model))
        throw error
      }
      return Generation(frame: transaction.base)
    }
    try requirePresent()
    do {
      return try store.write { transaction in
        // Check again, because the store may have been removed while this method waited for the
        // writer lock.
        try requirePresent()
        try model.requireCurrent(.transaction(transaction.keyspace(StoredModel.keyspace)))
        try body(transaction)
      }
    } catch {
      // If the store has since been removed, throw `removedStore` instead.
      try requirePresent()
      throw error
    }
  }

  /// Runs `body`, which performs a migration stage or an import, with a context that reads and
  /// writes in `transaction`.
  ///
  /// After `body` returns, the method saves any remaining changes.
  static func run(
    _ store: Store, _ model: StoreModel, within transaction: WriteTransaction,
    _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    let context = ManagedObjectContext(StoreGroup(.init(url: nil, store: store, model: model)))
    context.pin = .within(transaction, StoreView(transaction, model))
    // Empty the context, because the program may have kept a reference to it, and its objects no
    // longer match the store once the migration changes the model.
    defer {
      context.abandonAll()
      context.pin = .none
    }
    try body(context)
    try context.save()
  }
}
