import Heartwood

extension CrewRun {
  /// Saves a context, and compares the store, the history and the context with the reference.
  ///
  /// - Parameter rollsBack: `true` to roll the context back if the save fails.
  func save(_ workspace: CrewWorkspace, rollsBack: Bool) throws {
    let hadChanges = workspace.context.hasChanges
    let wasStale = workspace.view.generation != store.generation
    if workspace.isMerging, isStale(workspace) {
      if !workspace.view.canRebase(store) { return try rollback(workspace) }
      if workspace.view.changedOrders.isEmpty {
        workspace.view.rebase(store)
      } else {
        _ = try workspace.context.count(for: FetchRequest<CrewBadge>())
        try readAll(workspace)
      }
    }
    var reference = CrewSave(workspace.view, workspace.policy, store)
    var expected: Set<CrewFailure> = []
    if workspace.view.hasChanges || !workspace.view.watched.isEmpty {
      do { try reference.run() } catch { expected = error.all }
    }
    do {
      try workspace.context.save()
    } catch {
      record("  throws \(error)")
      if workspace.isMerging, wasStale { try readAll(workspace) }
      try expectFailure(workspace, error, expected)
      return rollsBack ? try rollback(workspace) : ()
    }
    guard expected.isEmpty else {
      throw CrewMismatch("the save should throw \(expected)")
    }
    count("saved")
    try finish(workspace, reference, hadChanges, wasStale)
  }

  private func expectFailure(
    _ workspace: CrewWorkspace, _ error: any Error, _ expected: Set<CrewFailure>
  ) throws {
    count("refused")
    // If a save has several failures, the reference model may predict only the first one.
    let failures = (error as? ObjectGraphError).map { [$0] + $0.failures } ?? []
    let kinds = Set(failures.compactMap { CrewFailure(rawValue: $0.kind.description) })
    guard !kinds.isDisjoint(with: expected) || expected.count > 1 && kinds == [.validation] else {
      throw CrewMismatch("the save throws \(error) instead of \(expected)")
    }
    try expectSame(workspace, "after a save that failed")
    try expectSameSets(workspace)
    try expectHistory(CrewDifference(), isExact: true, "after a save that failed")
  }

  private func finish(
    _ workspace: CrewWorkspace, _ reference: CrewSave, _ hadChanges: Bool, _ wasStale: Bool
  ) throws {
    for tag in workspace.view.work.inserted where reference.became[tag] == nil {
      try name(tag, workspace.object(tag))
    }
    let result = try resolved(reference)
    let difference = workspace.view.hasChanges ? store.commit(result) : CrewDifference()
    let isExact = reference.contested.isEmpty && reference.became.isEmpty && !reference.isOpen
    // After an exact save, the context is compared anyway, so compare the store less often.
    if !isExact || wasStale || store.generation % 4 == 0 { try expectStored("after a save") }
    try expectHistory(difference, isExact: isExact, "after a save")
    try replaceNew(workspace, reference)
    let gone = workspace.view.work.deleted
    if workspace.pinned != nil {
      workspace.pinned = store
      // The next read determines the generation to which the context is pinned.
      _ = try workspace.context.count(for: FetchRequest<CrewBadge>())
    }
    // A save without changes has no effect, and keeps the undo history.
    let isKept = !hadChanges && (workspace.view.canUndo || !workspace.view.future.isEmpty)
    if isKept {
      workspace.view.watched = []
      return try expectSame(workspace, "after a save without changes")
    }
    if setting.keepsUndo {
      count("undo kept")
      workspace.view.readKeepingUndo(store)
      try expectSame(workspace, "after a save")
      return try expectPruned(workspace, "after a save")
    }
    if wasStale {
      try expectAgreement(workspace, "in the context that has saved")
      workspace.view.read(store)
      if !reference.contested.isEmpty { try expectMerged(workspace, all: true) }
      try sync(workspace)
    } else {
      workspace.view.read(store)
      try expectSame(workspace, "after a save")
    }
    for tag in gone where workspace.view.now[tag] == nil { workspace.drop(tag) }
    try expectPruned(workspace, "after a save")
  }

  /// Records the permanent ID of an object.
  func name(_ tag: Int, _ object: ManagedObject) throws {
    let id = object.objectID
    guard !id.isTemporary else { throw CrewMismatch("\(tag) was saved, but its ID is temporary") }
    if let other = tagsByID[id], other != tag {
      throw CrewMismatch("\(tag) has the ID of \(other)")
    }
    tagsByID[id] = tag
    ids[tag] = id
  }

  /// Returns the content of the store after a save.
  ///
  /// If the guarantees permit several results, the result that the store contains is returned.
  private func resolved(_ reference: CrewSave) throws -> CrewGraph {
    guard reference.isOpen || reference.isOrderOpen else { return reference.result }
    let found = try stored()
    try expectAgreement(found, "after a save")
    guard !reference.isOpen else { return keepingLostMentors(found) }
    var result = reference.result
    for (tag, row) in result.rows {
      for link in row.kind.links where link.isOrdered {
        guard let there = found[tag]?[link], Set(there) == Set(row[link]) else { continue }
        result[tag]?[link] = there
      }
    }
    return result
  }

  /// Returns the given content of the store, with references to missing rows restored.
  ///
  /// A reference becomes valid again if the row of its target returns, so references are
  /// restored in rows that the save did not write.
  private func keepingLostMentors(_ found: CrewGraph) -> CrewGraph {
    var result = found
    for (tag, row) in found.rows {
      guard let before = store.graph[tag], found.shown(before, .mentor) == row[.mentor],
        row.differences(from: before).allSatisfy({ $0 == CrewLink.mentor.name })
      else { continue }
      result[tag]?[.mentor] = before[.mentor]
    }
    return result
  }

  /// Expects new objects that became existing rows to have the IDs and values of those rows.
  private func replaceNew(_ workspace: CrewWorkspace, _ reference: CrewSave) throws {
    for (tag, met) in reference.became {
      let object = try workspace.object(tag)
      guard object.objectID == ids[met] else {
        throw CrewMismatch("\(tag) has become \(met), but its ID is \(object.objectID)")
      }
      guard let row = store.graph[met] else { continue }
      for field in row.kind.fields {
        let value = CrewAccess.value(field, of: object)
        guard value == row[field] else {
          throw CrewMismatch("\(tag), now \(met), has the \(field) \(value), not \(row[field])")
        }
      }
      workspace.drop(tag)
      // If several new objects have become the same row, only one of them stays in the context.
      if workspace.handlesObject(met) || object.managedObjectContext == nil { continue }
      workspace.keep(object, as: met)
    }
  }

  // MARK: Aborting

  func rollback(_ workspace: CrewWorkspace) throws {
    workspace.context.rollback()
    record("  rolled back")
    for tag in workspace.view.work.inserted { try expectLeft(workspace, tag) }
    let wasStale = isStale(workspace)
    workspace.view.rollback()
    try expectSameSets(workspace)
    if wasStale { try sync(workspace) } else { try expectSame(workspace, "after a rollback") }
    try expectPruned(workspace, "after a rollback")
  }

  /// Expects a new object whose insertion was reverted to have left its context with its
  /// attributes.
  private func expectLeft(_ workspace: CrewWorkspace, _ tag: Int) throws {
    guard let row = workspace.view.now[tag] else { return }
    let object = try workspace.object(tag)
    for field in row.kind.fields where CrewAccess.value(field, of: object) != row[field] {
      throw CrewMismatch("\(tag).\(field) was changed by a rollback")
    }
    for link in row.kind.links where !CrewAccess.targets(link, of: object).isEmpty {
      throw CrewMismatch("\(tag) still has \(link) after a rollback")
    }
    guard object.managedObjectContext == nil, !object.hasChanges else {
      throw CrewMismatch("\(tag) still belongs to a context after a rollback")
    }
  }

  func reset(_ workspace: CrewWorkspace) throws {
    let objects = workspace.view.now.rows.keys.compactMap { tag in
      try? WeakObject(workspace.object(tag))
    }
    workspace.dropAll()
    workspace.context.reset()
    let left = objects.compactMap(\.object)
    guard left.isEmpty else {
      throw CrewMismatch("\(left.count) objects outlive reset")
    }
    workspace.view.rollback()
    if workspace.pinned != nil { workspace.pinned = store }
    try sync(workspace)
  }

  /// Expects unused objects to be deallocated after they have left the context.
  func expectPruned(_ workspace: CrewWorkspace, _ moment: String) throws {
    for (tag, object) in workspace.prune() where object.object != nil {
      // A reference without an inverse retains its target.
      let isHeld = workspace.handles.values.contains {
        ($0 as? CrewMember)?.mentor === object.object
      }
      // The context retains watched objects, because the next save checks whether they were changed
      // elsewhere.
      if isHeld || workspace.view.watched.contains(tag) { continue }
      throw CrewMismatch("\(moment): \(tag) is not deallocated, but unused")
    }
  }

  /// Rereads all objects of a context without changes.
  func sync(_ workspace: CrewWorkspace) throws {
    workspace.context.refreshAllObjects()
    try readAll(workspace)
  }

  /// Returns whether another context has saved since this context last read everything.
  func isStale(_ workspace: CrewWorkspace) -> Bool {
    workspace.view.generation != (workspace.pinned ?? store).generation
  }

  /// Fetches all objects, and expects the context to show all saved changes.
  func readAll(_ workspace: CrewWorkspace) throws {
    let orders = isStale(workspace) ? workspace.view.changedOrders : []
    workspace.view.rebase(workspace.pinned ?? store)
    var found: Set<Int> = []
    for object in try CrewAccess.all(workspace.context) {
      let new = workspace.tag(object)
      guard let tag = tagsByID[object.objectID] ?? (workspace.view.isNew(new) ? new : nil), tag > 0
      else { throw CrewMismatch("an unknown object exists: \(object.objectID)") }
      found.insert(tag)
      if workspace.handlesObject(tag) {
        guard try workspace.object(tag) === object else {
          throw CrewMismatch("one context has two objects for \(tag)")
        }
      } else {
        workspace.keep(object, as: tag)
      }
    }
    guard found == Set(workspace.view.now.rows.keys) else {
      throw CrewMismatch("a fetch finds \(found.sorted())")
    }
    for (tag, link) in orders + (orders.isEmpty ? [] : workspace.view.changedOrders) {
      try adoptOrder(of: tag, link, workspace)
    }
    try expectSame(workspace, "after everything was read again")
    try expectPruned(workspace, "after everything was read again")
  }

  /// Adopts the order of members that a context has merged, if the members are correct.
  private func adoptOrder(of tag: Int, _ link: CrewLink, _ workspace: CrewWorkspace) throws {
    let found = CrewAccess.targets(link, of: try workspace.object(tag)).map { workspace.tag($0) }
    guard Set(found) == Set(workspace.view.now.targets(tag, link)) else { return }
    workspace.view.now[tag]?[link] = found
  }
}
