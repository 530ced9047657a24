import Heartwood

/// Steps that save a context.
extension CrateRun {
  func save(_ workspace: CrateWorkspace) throws {
    let context = workspace.context
    workspace.touch()
    let before = try stored()
    let changes = CrateText.changes(context)
    let hadChanges = context.hasChanges
    let changed = context.insertedObjects.union(context.updatedObjects)
    let wasStale = workspace.isStale || workspace.isPinned
    let token = try container.currentHistoryToken
    record("\(workspace.name): save \(workspace.policy?.rawValue ?? ""), \(changes)")
    do {
      try context.save()
    } catch let error as ObjectGraphError {
      return try expectUnsaved(workspace, error, store: before, changes: changes)
    }
    try expect(
      !context.hasChanges, "a save leaves no changes",
      "\(workspace.name): \(CrateText.changes(context))")
    guard workspace.isRoot else {
      try expectSavedIntoParent(workspace, store: before)
      return try check(workspace)
    }
    let hasWritten = try container.currentHistoryToken != token
    if !hadChanges {
      try expect(!hasWritten, "a save without changes writes nothing", workspace.name)
    } else if workspace.policy == .error, !wasStale {
      // No other context has committed, so none can have deleted the same objects first.
      try expect(hasWritten, "a save of changes writes something", "\(workspace.name): \(changes)")
    }
    workspace.notePin()
    try expectSaved(workspace, changed)
    workspace.isStale = false
    if hasWritten { noteCommit(by: workspace) }
    try check(workspace)
  }

  /// Expects a failed save to have changed nothing.
  private func expectUnsaved(
    _ workspace: CrateWorkspace, _ error: ObjectGraphError, store: [String], changes: String
  ) throws {
    record("  throws \(error)")
    let context = workspace.context
    var isExpected = error.kind == .constraintConflict || error.kind == .deniedDelete
    if error.kind == .mergeConflict { isExpected = workspace.policy == .error }
    try expect(isExpected, "saves throw only for conflicts", "\(workspace.name): \(error)")
    let after = try stored()
    try expect(
      after == store, "a failed save does not change the store", CrateText.difference(store, after))
    // Automatic merging rereads objects before the save fails (QG-35).
    if !context.automaticallyMergesChangesFromParent {
      let left = CrateText.changes(context)
      try expect(
        left == changes, "a failed save does not change the context",
        "\(workspace.name): \(left) instead of \(changes)")
    }
    try check(workspace)
    if isTrue(onceIn: 2) { try rollback(workspace) }
  }

  /// Expects a context that has saved, and the given saved objects, to equal the store.
  private func expectSaved(_ workspace: CrateWorkspace, _ changed: Set<ManagedObject>) throws {
    let expected = try stored()
    let present = Set(expected)
    for object in changed where object.managedObjectContext != nil && !object.isDeleted {
      let line = CrateText.line(object, withDerived: true)
      try expect(
        present.contains(line), "saved objects equal the store",
        "\(workspace.name) shows \(line)\(CrateText.difference(expected, [line]))")
    }
    let lines = try CrateText.lines(workspace.context, withDerived: true)
    try expect(
      lines == expected, "after a save, the context equals the store",
      "\(workspace.name)\(CrateText.difference(expected, lines))")
    try checkStore()
  }

  private func expectSavedIntoParent(_ child: CrateWorkspace, store: [String]) throws {
    guard let parent = child.parent else { return }
    let lines = try CrateText.lines(child.context, withDerived: false)
    let expected = try CrateText.lines(parent.context, withDerived: false)
    if !child.isStale {
      try expect(
        lines == expected, "after a save, the child equals its parent",
        CrateText.difference(expected, lines))
    }
    let after = try stored()
    try expect(
      after == store, "saving a child does not change the store",
      CrateText.difference(store, after))
  }
}
