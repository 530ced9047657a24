extension ManagedObjectContext {
  /// Saves the context's changes.
  ///
  /// A child context saves to its parent. A root context writes all changes to the store in one
  /// transaction, which creates one generation.
  ///
  /// A save first calls `willSave` on the changed objects, and calls it again on objects that
  /// `willSave` has changed. The save then calls `validate`. A root context resolves conflicts with
  /// ``mergePolicy``, writes the changes and assigns permanent IDs to new objects. Finally, the
  /// save calls `didSave`. If there are no changes, nothing is written.
  ///
  /// Unless ``generationAfterSave`` specifies otherwise, a pinned context then advances to the new
  /// generation. If there are no changes, the context advances to the newest generation.
  ///
  /// - Throws: `validation` with all failures, `deniedDelete`, `mergeConflict`,
  ///   `constraintConflict`, `saveDidNotConverge`, or `multipleStores` if objects of several stores
  ///   have changed. The method also throws any error thrown by `willSave`, by a custom policy or
  ///   by a write to the store. If a save fails, the changes remain in the context and can be saved
  ///   again.
  /// - Complexity: For each changed object, a save reads and writes one row, and writes one entry
  ///   for each of the object's indexes. The save syncs to disk once.
  public func save() throws {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    try requireReadable()
    try mergeAutomatically()
    for storeContext in storeContexts { storeContext.loadReturnedEdits() }
    guard try !storeContextsToSave().isEmpty else { return advanceWithoutSaving() }
    let start = ContinuousClock.now
    try callWillSave()
    try validateAll()
    // Determine the changed store contexts again, because the callbacks may have changed objects of
    // other stores.
    let changed = try storeContextsToSave()
    guard !changed.isEmpty else { return advanceWithoutSaving() }
    guard parent == nil else { return saveToParent(changed) }
    for storeContext in changed { try storeContext.saveOwn(start) }
  }

  /// Saves the changes in the given store contexts, which belong to this context, to their parents.
  ///
  /// In the parent, all changes form one undo group.
  private func saveToParent(_ changed: [ManagedObjectContext]) {
    let saved = changed.flatMap { $0.inserted.all + $0.updated.all + $0.deleted.all }
    for storeContext in changed {
      storeContext.notifyObservers(of: storeContext.pendingChange)
      storeContext.prepareToPush()
    }
    let written = changed.map { ($0.inserted.all, $0.updated.all, $0.deleted.all) }
    parent?.undoLog?.endGroup()
    for storeContext in changed { storeContext.pushToParent() }
    parent?.undoLog?.endGroup()
    keepUndoAfterSave()
    for storeContext in changed { storeContext.refreshMergingChildren() }
    for (storeContext, written) in zip(changed, written) {
      storeContext.notifyObservers(of: storeContext.didSave(written))
    }
    for object in saved { object.didSave() }
  }

  /// Saves the changes in this store context, which has no parent.
  private func saveOwn(_ start: ContinuousClock.Instant) throws {
    notifyObservers(of: pendingChange)
    var request: SaveRequest?
    let generation = try write { transaction in
      var running = SaveRequest(self, transaction)
      try running.run()
      request = running
    }
    guard let request else { return }
    // From now on, unsaved changes are relative to the new generation. Within a transaction, that
    // generation is not committed yet, so it cannot be recorded.
    if case .within = pin {} else { recordRead(generation) }
    let hadChanges = hasOwnChanges
    let counts = "\(inserted.count) new, \(updated.count) changed, \(deleted.count) deleted"
    let replacedObjects = renumberInserted(request)
    finish(request)
    advance(to: generation)
    // Dismiss the replaced objects after `advance(to:)`, because dismissed objects copy their
    // values from the rows of the new generation.
    Self.dismiss(replacedObjects)
    // If a new object was merged into an existing row, discard the undo groups, because they would
    // change an object that is no longer in the context.
    if !request.changes.replaced.isEmpty {
      forgetUndo()
    } else if hadChanges {
      keepUndoAfterSave()
    }
    let isAlone = upToDate.map { $0.frame + 1 == request.base } ?? false
    // If a new object was merged into an existing row, refresh the context, because other contexts
    // may have added objects to the relationships of that row.
    let showsOthers = !request.changes.replaced.isEmpty && !isAlone
    let readsAgain = request.isContested || showsOthers
    if readsAgain { refreshStale() }
    upToDate = readsAgain || isAlone ? generation : nil
    recordMerge(generation, base: request.base)
    refreshMergingChildren()
    notifyObservers(of: didSave(request, generation))
    ContextLog.saved(
      counts, request.savedObjects, model.space, generation, start.duration(to: .now))
    for object in request.savedObjects { object.didSave() }
  }

  /// Makes the next save check `object` for conflicts with changes by other contexts, even if this
  /// context has not changed the object.
  public func detectConflicts(for object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(holding: object) {
      return storeContext.detectConflicts(for: object)
    }
    watched.insert(object)
  }

  /// Returns the changes that a save wrote to the parent context.
  private func didSave(
    _ written: (inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject])
  ) -> ContextChange {
    func ids(_ objects: [ManagedObject]) -> Set<ManagedObjectID> {
      Set(objects.map { ManagedObjectID($0.number, model.space) })
    }
    return ContextChange(
      kind: .didSave, inserted: ids(written.inserted), updated: ids(written.updated),
      deleted: ids(written.deleted))
  }

  // MARK: Before the commit

  /// The maximum number of rounds of `willSave` calls.
  ///
  /// A limit is needed because each round may change more objects.
  private static let roundLimit = 100

  private func callWillSave() throws {
    var called: [(object: ManagedObject, changeCount: Int)] = []
    defer { for (object, _) in called { object.state.remove(.willSaveCalled) } }
    for _ in 0..<Self.roundLimit {
      var isDone = true
      for object in changedObjects where !object.state.contains(.willSaveCalled) {
        isDone = false
        object.state.insert(.willSaveCalled)
        // Set this hook, so that the setters of a new object report the changes made by `willSave`.
        if object.isInserted { object.setHooks(.writing) }
        called.append((object, object.changes?.count ?? 0))
        try object.willSave()
      }
      if isDone { return }
      // In the next round, call `willSave` again on each object that it or another object's
      // `willSave` has changed.
      called.removeAll { object, count in
        guard object.changes?.count ?? 0 != count else { return false }
        object.state.remove(.willSaveCalled)
        return true
      }
    }
    throw ObjectGraphError(
      .saveDidNotConverge,
      "willSave was still changing objects after \(Self.roundLimit) rounds. In willSave, set a "
        + "property only if the new value differs from the current value.")
  }

  private func validateAll() throws {
    let failures = storeContexts.flatMap { $0.validationFailures() }
    try failures.throwAll(.validation, "are not valid")
  }

  private func validationFailures() -> [ObjectGraphError] {
    var failures: [ObjectGraphError] = []
    for object in [inserted, updated].joined() {
      do {
        try object.validate()
      } catch {
        failures.append(validationFailure(of: object, error))
      }
    }
    // Only a child context checks the delete rules now. A root context checks the rules during the
    // save, after the merge policy has decided which objects are deleted.
    if parent != nil {
      for object in deleted where !object.isInaccessible { failures += denials(of: object) }
    }
    return failures
  }

  /// Returns an error for each relationship whose delete rule prevents the deletion of `object`.
  ///
  /// A `deny` rule prevents the deletion if the relationship contains an object that is not being
  /// deleted.
  func denials(of object: ManagedObject) -> [ObjectGraphError] {
    guard let entity = object.entityDescription else { return [] }
    return entity.relationships.compactMap { property in
      guard property.options.deleteRule == .deny,
        related(to: object, property).contains(where: { !$0.isDeleted })
      else { return nil }
      return entity.denial(property, of: object.objectID)
    }
  }
}
