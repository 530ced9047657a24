extension ManagedObjectContext {
  /// Makes everything that was changed one generation of the store.
  ///
  /// In this order: objects are asked by `willSave` (again if that has changed objects) and by
  /// `validate`; conflicts with others are settled by ``mergePolicy``; everything is written in one
  /// transaction; new objects get their permanent IDs; `didSave` is called. Without changes nothing
  /// is written. A context that is pinned to a generation reads the one it has made from then on,
  /// without changes the newest, unless ``generationAfterSave`` says otherwise.
  ///
  /// - Throws: `validation` with all that is wrong, `deniedDelete`, `mergeConflict`,
  ///   `constraintConflict`; what `willSave` or a custom policy throws; what kept the store from
  ///   being written. Objects and changes are as they were then.
  /// - Complexity: For each changed object one row read and written, and an entry for each of its
  ///   indexes; one sync.
  public func save() throws {
    confinement?.enter()
    defer { confinement?.leave() }
    defer { processPendingChanges() }
    try requireReadable()
    try mergeAutomatically()
    guard try !partsToSave().isEmpty else { return advance() }
    let start = ContinuousClock.now
    try callWillSave()
    try validateAll()
    // Which may be others now.
    let changed = try partsToSave()
    guard !changed.isEmpty else { return advance() }
    for part in changed { try part.saveOwn(start) }
  }

  /// Saves what was changed in this part.
  private func saveOwn(_ start: ContinuousClock.Instant) throws {
    tell(pendingChange)
    if let parent {
      let written = (inserted.all, updated.all, deleted.all)
      let saved = inserted.all + updated.all + deleted.all
      push(to: parent)
      forgetUndo()
      tell(didSave(written))
      for object in saved { object.didSave() }
      return
    }
    var request: SaveRequest?
    let generation = try write { transaction in
      var running = SaveRequest(self, transaction)
      try running.run()
      request = running
    }
    guard let request else { return }
    let hadChanges = hasOwnChanges
    let counts = "\(inserted.count) new, \(updated.count) changed, \(deleted.count) deleted"
    let leavers = renumberInserted(request)
    let saved = finish(request)
    advance(to: generation)
    // They take the values of their rows, which are in the new generation.
    Self.dismiss(leavers)
    if hadChanges { forgetUndo() }
    let isAlone = upToDate.map { $0.frame + 1 == request.base } ?? false
    // A row that a new object has become shows what others have related it to.
    let showsOthers = !request.changes.replaced.isEmpty && !isAlone
    let readsAgain = request.isContested || showsOthers
    if readsAgain { refreshStale() }
    upToDate = readsAgain || isAlone ? generation : nil
    noteMerged(generation, base: request.base)
    refreshMergingChildren()
    tell(didSave(request, generation))
    ContextLog.saved(counts, saved, model.space, generation, start.duration(to: .now))
    for object in saved { object.didSave() }
  }

  /// Has the next save check that nobody else has changed an object, even if it is unchanged here.
  public func detectConflicts(for object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(holding: object) { return part.detectConflicts(for: object) }
    watched.insert(object)
  }

  /// What a save to the parent has written.
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

  // MARK: Before

  /// The most rounds of `willSave`, as a change in each may ask for another.
  private static let roundLimit = 100

  private func callWillSave() throws {
    var asked: [ManagedObject] = []
    defer { for object in asked { object.state.remove(.isAsked) } }
    for _ in 0..<Self.roundLimit {
      let new = changedObjects.filter { !$0.state.contains(.isAsked) }
      guard !new.isEmpty else { return }
      for object in new {
        let before = object.changes?.count
        object.state.insert(.isAsked)
        asked.append(object)
        try object.willSave()
        // One that has changed itself is asked again.
        if object.changes?.count != before { object.state.remove(.isAsked) }
      }
    }
    throw ObjectGraphError(
      .endlessSave, "willSave has changed objects \(Self.roundLimit) times over.")
  }

  private func validateAll() throws {
    let failures = parts.flatMap { $0.validationFailures() }
    try failures.throwAll(.validation, "are not valid")
  }

  private func validationFailures() -> [ObjectGraphError] {
    var failures: [ObjectGraphError] = []
    for object in inserted.all + updated.all {
      do {
        try object.validate()
      } catch {
        failures.append(validationFailure(of: object, error))
      }
    }
    // In the store, the merge policy decides first whether an object is deleted.
    if parent != nil { for object in deleted.all { failures += denials(of: object) } }
    return failures
  }

  /// What keeps an object from being deleted: others, unless they are deleted too.
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
