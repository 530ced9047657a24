import Foundation

extension ManagedObjectContext {
  /// A Boolean value that indicates whether the context automatically merges changes saved by other
  /// contexts.
  ///
  /// Before each fetch and save, the context merges new history transactions as
  /// ``mergeChanges(from:)-(PersistentHistoryTransaction)`` does. Between merges, saves by other
  /// contexts do not affect the context's objects. A child context merges after its parent has
  /// saved. The container's ``PersistentContainer/viewContext`` merges as soon as another context
  /// has saved. Automatic merging requires the history.
  public var automaticallyMergesChangesFromParent: Bool {
    get { autoMerge != nil }
    set {
      guard newValue != (autoMerge != nil) else { return }
      autoMerge = newValue ? ((try? firstMerge()) ?? AutoMerge()) : nil
      for storeContext in otherStoreContexts {
        storeContext.automaticallyMergesChangesFromParent = newValue
      }
      automaticMergingChanged?(newValue)
    }
  }

  /// Returns the point from which automatic merging starts when it is turned on.
  ///
  /// For a pinned context, this is the pinned generation, because the context has not read any
  /// later transactions yet.
  private func firstMerge() throws -> AutoMerge {
    guard case .at(let view) = pin else { return try newestMerge(store.snapshot()) }
    return try view.snapshot.map { try newestMerge($0) } ?? AutoMerge()
  }

  private func newestMerge(_ snapshot: Snapshot) throws -> AutoMerge {
    AutoMerge(
      position: try HistoryReader(snapshot, model).newestPosition(),
      generation: snapshot.generation)
  }

  /// The point up to which the context has merged changes from other contexts.
  ///
  /// The position and the generation are `nil` if the store could not be read when merging was
  /// turned on.
  struct AutoMerge {
    var position: HistoryPosition?
    var generation: Generation?
  }

  /// Merges new transactions immediately, rather than at the next fetch.
  ///
  /// If merging fails, the next fetch throws the error.
  func mergePromptly() {
    confinement?.enter()
    defer { confinement?.leave() }
    try? mergeAutomatically()
    processPendingChanges()
  }

  /// Merges the transactions that were committed since the last merge, if automatic merging is on.
  func mergeAutomatically() throws {
    guard autoMerge != nil, parent == nil else { return }
    for storeContext in rootContext.storeContexts where !storeContext.model.isRemoved {
      try storeContext.mergeOwnAutomatically()
    }
  }

  private func mergeOwnAutomatically() throws {
    guard let before = autoMerge else { return }
    if case .within = pin { return }
    let snapshot = try store.snapshot()
    guard before.generation != snapshot.generation else { return }
    let newest = try newestMerge(snapshot)
    if let transactions = try transactions(after: before.position, snapshot) {
      for transaction in transactions { try mergeChanges(from: transaction) }
    } else {
      try mergeAll()
    }
    // Set the position only after the merge, so that the context retries a failed merge.
    autoMerge = newest
    // Advance even if there were no transactions to merge, so that the pin moves to the newest
    // generation.
    advance()
  }

  /// Returns the transactions after a position, or `nil` if the position is unknown or some of the
  /// transactions have been deleted.
  private func transactions(
    after position: HistoryPosition?, _ snapshot: Snapshot
  ) throws -> [PersistentHistoryTransaction]? {
    guard let position else { return nil }
    do {
      return try HistoryReader(snapshot, model).transactions(after: position)
    } catch let error as ObjectGraphError where error.kind == .historyExpired {
      return nil
    }
  }

  /// Records the context's own save as merged, unless other commits have been made since the last
  /// merge.
  func recordMerge(_ own: Generation, base: UInt64) {
    guard let last = autoMerge?.generation, last.frame + 1 == base,
      let snapshot = try? store.snapshot(), snapshot.generation == own,
      let newest = try? newestMerge(snapshot)
    else { return }
    autoMerge = newest
  }

  /// Rereads all loaded objects that have no unsaved changes.
  ///
  /// Other contexts may have changed these objects. Without this step, a save that merges other
  /// contexts' changes to some objects would leave the remaining objects inconsistent with the
  /// merged objects.
  ///
  /// - Complexity: Reads one row for each registered object that is not a fault.
  func refreshStale() {
    // Ignore read errors, so that an object that cannot be read keeps its values.
    guard let view = try? currentView() else { return }
    for object in allRegistered() where !object.isFault && !object.hasChanges {
      try? refreshIfStale(object, view)
    }
  }

  private func refreshIfStale(_ object: ManagedObject, _ view: StoreView) throws {
    guard let storage = model.storage(of: object.number) else { return }
    // Read the row even if its version is unchanged, because the version does not change when a
    // derived attribute is recomputed.
    let isThere: Void? = try view.withRecord(object.number, storage) { record in
      _ = try materialize(object.number, storage, record)
    }
    if isThere == nil { try mergeDeletion(of: object, view) }
  }

  /// Updates all registered objects to the newest generation, without using the history.
  private func mergeAll() throws {
    let view = try beginMerging(of: model.space.store)
    for object in allRegistered() {
      try mergeUpdate(of: object, view)
      try mergeDeletion(of: object, view)
    }
  }

  /// Refreshes every child context that merges automatically, so that it reflects this context's
  /// latest save.
  func refreshMergingChildren() {
    for child in children {
      if let context = child.context, context.autoMerge != nil { context.refreshAllObjects() }
    }
  }

  /// Merges the changes of a history transaction.
  ///
  /// A pinned context advances to the newest generation. Objects that the transaction updated are
  /// reread and keep their unsaved changes. Objects that the transaction deleted are removed from
  /// the context. However, a deleted object that has unsaved changes remains in the context, and
  /// the next save reports a conflict. Other objects do not change.
  ///
  /// - Throws: Any error from reading rows; `foreignStore` if the transaction belongs to another
  ///   store; `childContext` if this is a child context, which always reads from its parent.
  /// - Complexity: Reads one row for each changed object that is registered and not a fault.
  public func mergeChanges(from transaction: PersistentHistoryTransaction) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    if let storeContext = otherStoreContext(of: transaction.store) {
      return try storeContext.mergeChanges(from: transaction)
    }
    let view = try beginMerging(of: transaction.store)
    for change in transaction.changes {
      switch change.kind {
      case .insert, .update: try mergeUpdate(of: change.objectID, view)
      case .delete: try mergeDeletion(of: change.objectID, view)
      }
    }
  }

  /// Merges the changes between two generations, as
  /// ``mergeChanges(from:)-(PersistentHistoryTransaction)`` does for a history transaction.
  ///
  /// - Throws: Any error from reading rows; `foreignStore` if the changes belong to another store;
  ///   `childContext` if this is a child context, which always reads from its parent.
  /// - Complexity: Reads one row for each changed object that is registered and not a fault.
  public func mergeChanges(_ changes: ChangeSet) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    let merges = try changes.stores.map { store in
      let storeContext = otherStoreContext(of: store) ?? self
      return (storeContext: storeContext, view: try storeContext.beginMerging(of: store))
    }
    for (storeContext, view) in merges {
      for entity in changes.entities.values {
        for id in entity.inserted { try storeContext.mergeUpdate(of: id, view) }
        for id in entity.updated.keys { try storeContext.mergeUpdate(of: id, view) }
        for id in entity.deleted { try storeContext.mergeDeletion(of: id, view) }
      }
    }
  }

  /// Merges the changes that another context has saved, as
  /// ``mergeChanges(from:)-(PersistentHistoryTransaction)`` does for a history transaction.
  ///
  /// This method also works if no history is recorded.
  ///
  /// ```swift
  /// for await change in background.changes where change.kind == .didSave {
  ///   try view.mergeChanges(from: change)
  /// }
  /// ```
  ///
  /// - Parameter change: A change of kind ``ContextChange/Kind/didSave``. Other kinds are ignored,
  ///   because they do not describe changes to a store.
  /// - Throws: The same errors as ``mergeChanges(_:)``.
  /// - Complexity: Reads one row for each changed object that is registered and not a fault.
  public func mergeChanges(from change: ContextChange) throws {
    guard change.kind == .didSave else { return }
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    let changed = change.inserted.union(change.updated).union(change.derived)
    for store in Set(changed.union(change.deleted).map(\.space.store)) {
      let storeContext = otherStoreContext(of: store) ?? self
      let view = try storeContext.beginMerging(of: store)
      for id in changed where id.space.store == store {
        try storeContext.mergeUpdate(of: id, view)
      }
      for id in change.deleted where id.space.store == store {
        try storeContext.mergeDeletion(of: id, view)
      }
    }
  }

  /// Advances the context to the newest generation.
  ///
  /// - Returns: The view from which to read the merged objects.
  private func beginMerging(of store: UUID) throws -> StoreView {
    guard parent == nil else {
      throw ObjectGraphError(
        .childContext,
        "A child context always reads from its parent. Merge the changes into the parent instead.")
    }
    guard store == model.space.store else {
      throw StorageError(
        .foreignStore,
        "The changes come from a store that this context does not use. Merge the changes into a "
          + "context whose container contains that store.")
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
      try materialize(object.number, storage, record)
    }
    // Discard the loaded members, because members are stored separately and may have changed even
    // if the row has not.
    forgetMembers(of: object, storage.entity)
  }

  private func mergeDeletion(of object: ManagedObject, _ view: StoreView) throws {
    // Check again that the row is missing, because a merge policy may have restored it.
    guard let storage = model.storage(of: object.number),
      try view.withRecord(object.number, storage, { _ in }) == nil
    else { return }
    if object.isDeleted { object.state.insert(.deletedElsewhere) }
    guard !object.hasChanges || discardNoOpEdits(of: object) else { return }
    notifyObservers(of: object, as: \.deleted)
    forgetDeleted(object)
  }
}
