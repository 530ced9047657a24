import Foundation

extension ManagedObjectContext {
  /// Whether the context shows what others have saved, by itself.
  ///
  /// It merges what is new in the history before each fetch and save, as
  /// ``mergeChanges(from:)-(PersistentHistoryTransaction)`` does; between them its objects stay as
  /// they are. One below another does so when its parent has saved, and the container's
  /// ``PersistentContainer/viewContext`` as soon as others have. Needs the history.
  public var automaticallyMergesChangesFromParent: Bool {
    get { autoMerge != nil }
    set {
      guard newValue != (autoMerge != nil) else { return }
      autoMerge = newValue ? ((try? newestMerge(store.snapshot())) ?? AutoMerge()) : nil
      for part in others { part.automaticallyMergesChangesFromParent = newValue }
      automaticMergingChanged?(newValue)
    }
  }

  private func newestMerge(_ snapshot: Snapshot) throws -> AutoMerge {
    AutoMerge(
      token: try HistoryReader(snapshot, model).newestToken(), generation: snapshot.generation)
  }

  /// How far the context has merged what others have saved; nothing yet without a token.
  struct AutoMerge {
    var token: PersistentHistoryToken?
    var generation: Generation?
  }

  /// Merges what others have saved, in between: what keeps it from that, the next fetch throws.
  func mergePromptly() {
    confinement?.enter()
    defer { confinement?.leave() }
    try? mergeAutomatically()
    processPendingChanges()
  }

  /// Merges what others have saved since the last time, if that is wanted.
  func mergeAutomatically() throws {
    guard autoMerge != nil, parent == nil else { return }
    for part in whole.parts where !part.model.isRemoved { try part.mergeOwnAutomatically() }
  }

  private func mergeOwnAutomatically() throws {
    guard let before = autoMerge else { return }
    if case .within = pin { return }
    let snapshot = try store.snapshot()
    guard before.generation != snapshot.generation else { return }
    let newest = try newestMerge(snapshot)
    do {
      for transaction in try HistoryReader(snapshot, model).transactions(after: before.token) {
        try mergeChanges(from: transaction)
      }
    } catch let error as ObjectGraphError where error.kind == .historyExpired {
      try mergeAll()
    }
    // Only now: what could not be merged is tried again.
    autoMerge = newest
    // Also of a transaction that has changed no object.
    advance()
  }

  /// Takes the context's own save as merged, unless others have saved since it last merged.
  func noteMerged(_ own: Generation, base: UInt64) {
    guard let last = autoMerge?.generation, last.frame + 1 == base,
      let snapshot = try? store.snapshot(), snapshot.generation == own,
      let newest = try? newestMerge(snapshot)
    else { return }
    autoMerge = newest
  }

  /// Has objects read again that others have changed since, after a save that has met such changes:
  /// what it has merged and what else is here would not fit together.
  ///
  /// - Complexity: One row read for each object that is here and no fault.
  func refreshStale() {
    // What cannot be read stays as it is, until something else reads it.
    guard let view = try? currentView() else { return }
    for object in allRegistered() where !object.isFault && !object.hasChanges {
      try? refreshIfStale(object, view)
    }
  }

  private func refreshIfStale(_ object: ManagedObject, _ view: StoreView) throws {
    guard let storage = model.storage(of: object.number) else { return }
    // What was derived for a row does not change its version.
    let isThere: Void? = try view.withRecord(object.number, storage) { record in
      _ = try realise(object.number, storage, record)
    }
    if isThere == nil { try mergeDeletion(of: object, view) }
  }

  /// Shows the newest generation, whatever has changed since the context has read its objects.
  private func mergeAll() throws {
    let view = try beginMerging(of: model.space.store)
    for object in allRegistered() {
      try mergeUpdate(of: object, view)
      try mergeDeletion(of: object, view)
    }
  }

  /// Has the contexts below that want it read again what this one has saved.
  func refreshMergingChildren() {
    for child in children {
      if let context = child.context, context.autoMerge != nil { context.refreshAllObjects() }
    }
  }

  /// Shows what a transaction of the history has changed.
  ///
  /// A context that is pinned goes on to the newest generation. Objects the transaction has updated
  /// are read again, under what was changed here; those it has deleted are, unless they were
  /// changed here, which the next save will meet as a conflict. Other objects stay as they are.
  ///
  /// - Throws: What kept rows from being read; `foreignStore` if the transaction is of another
  ///   store; `childContext` below another context, which sees what its parent does.
  /// - Complexity: One row read for each changed object that is here and no fault.
  public func mergeChanges(from transaction: PersistentHistoryTransaction) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    if let part = otherPart(of: transaction.store) {
      return try part.mergeChanges(from: transaction)
    }
    let view = try beginMerging(of: transaction.store)
    for change in transaction.changes {
      switch change.kind {
      case .insert, .update: try mergeUpdate(of: change.objectID, view)
      case .delete: try mergeDeletion(of: change.objectID, view)
      }
    }
  }

  /// Shows what has changed between two generations, as
  /// ``mergeChanges(from:)-(PersistentHistoryTransaction)`` does a transaction of the history.
  ///
  /// - Throws: What kept rows from being read; `foreignStore` if the changes are of another store;
  ///   `childContext` below another context, which sees what its parent does.
  /// - Complexity: One row read for each changed object that is here and no fault.
  public func mergeChanges(_ changes: ChangeSet) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    let places = try changes.stores.map { store in
      let part = otherPart(of: store) ?? self
      return (part: part, view: try part.beginMerging(of: store))
    }
    for (part, view) in places {
      for entity in changes.entities.values {
        for id in entity.inserted { try part.mergeUpdate(of: id, view) }
        for id in entity.updated.keys { try part.mergeUpdate(of: id, view) }
        for id in entity.deleted { try part.mergeDeletion(of: id, view) }
      }
    }
  }

  /// Shows what another context has saved, as
  /// ``mergeChanges(from:)-(PersistentHistoryTransaction)`` does a transaction of the history;
  /// without history, too.
  ///
  /// ```swift
  /// for await change in background.changes where change.kind == .didSave {
  ///   try view.mergeChanges(from: change)
  /// }
  /// ```
  ///
  /// - Parameter change: One of kind ``ContextChange/Kind/didSave``; others have changed nothing in
  ///   a store, and nothing is merged.
  /// - Throws: As ``mergeChanges(_:)``.
  /// - Complexity: One row read for each changed object that is here and no fault.
  public func mergeChanges(from change: ContextChange) throws {
    guard change.kind == .didSave else { return }
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    let stores = Set([change.inserted, change.updated, change.deleted].joined().map(\.space.store))
    for store in stores {
      let part = otherPart(of: store) ?? self
      let view = try part.beginMerging(of: store)
      for id in change.inserted.union(change.updated) where id.space.store == store {
        try part.mergeUpdate(of: id, view)
      }
      for id in change.deleted where id.space.store == store {
        try part.mergeDeletion(of: id, view)
      }
    }
  }

  /// Goes on to the newest generation, which merged objects are read from.
  private func beginMerging(of store: UUID) throws -> StoreView {
    guard parent == nil else {
      throw ObjectGraphError(
        .childContext, "A context below another sees what its parent does; merge into that.")
    }
    guard store == model.space.store else {
      throw StorageError(.foreignStore, "The changes are of another store.")
    }
    try requireReadable()
    advance()
    return try currentView()
  }

  private func mergeUpdate(of id: ManagedObjectID, _ view: StoreView) throws {
    guard isOwn(id), let object = registered[id.number]?.takeUnretainedValue() else { return }
    try mergeUpdate(of: object, view)
  }

  private func mergeDeletion(of id: ManagedObjectID, _ view: StoreView) throws {
    guard isOwn(id), let object = registered[id.number]?.takeUnretainedValue() else { return }
    try mergeDeletion(of: object, view)
  }

  private func mergeUpdate(of object: ManagedObject, _ view: StoreView) throws {
    guard !object.isFault, !object.isInserted, let storage = model.storage(of: object.number) else {
      return
    }
    guard !object.hasChanges else { return try refresh(object, mergeChanges: true) }
    _ = try view.withRecord(object.number, storage) { record in
      try realise(object.number, storage, record)
    }
    // Members are listed apart from the row, and may have changed without it.
    forgetMembers(of: object, storage.entity)
  }

  private func mergeDeletion(of object: ManagedObject, _ view: StoreView) throws {
    // It may be there again, as a merge policy lets it.
    guard !object.hasChanges || settleUnedited(object),
      let storage = model.storage(of: object.number),
      try view.withRecord(object.number, storage, { _ in }) == nil
    else { return }
    tell(\.deleted, object)
    forgetDeleted(object)
  }
}
