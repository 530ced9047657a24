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
    case .none: return nil
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
    guard let token else { return pin = .none }
    guard let generation = token.generation else { return pin = .atNextRead }
    guard autoMerge == nil else {
      throw ObjectGraphError(
        .autoMergeNeedsCurrentGeneration,
        "A context that merges by itself goes on with the newest generation. Pin it to .current, "
          + "or turn automaticallyMergesChangesFromParent off.")
    }
    pin = .at(StoreView(try store.snapshot(at: generation), model))
  }

  /// Has a pin that the store has given up, because it was suspended, be made again.
  private func dropSuspendedPin() {
    if case .at(let view) = pin, !view.isCurrent { pin = .atNextRead }
  }

  /// The generation to read.
  func currentView() throws -> StoreView {
    dropSuspendedPin()
    if case .at(let view) = pin { return view }
    let snapshot = try store.snapshot()
    if case .atNextRead = pin {
      let view = StoreView(snapshot, model)
      pin = .at(view)
      return view
    }
    if let recentView, recentView.snapshot?.generation == snapshot.generation,
      recentView.isCurrent
    {
      recentView.wasUsed.store(true, ordering: .relaxed)
      return recentView
    }
    let view = StoreView(snapshot, model)
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
    if case .none = pin { return }
    switch generationAfterSave {
    case .unpin: pin = .none
    case .advance:
      // If others have committed since and it is gone already, the next read finds what they left.
      pin = (try? store.snapshot(at: saved)).map { .at(StoreView($0, model)) } ?? .atNextRead
    }
  }
}
