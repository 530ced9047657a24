import Heartwood

/// Steps that undo and redo changes.
extension CrateRun {
  func undo(_ workspace: CrateWorkspace) throws {
    let context = workspace.context
    workspace.touch()
    record("\(workspace.name): undo, \(context.canUndo)")
    context.undo()
    if context.tracksUndo, !context.canUndo { try expectUndone(workspace) }
  }

  func redo(_ workspace: CrateWorkspace) {
    workspace.touch()
    record("\(workspace.name): redo, \(workspace.context.canRedo)")
    workspace.context.redo()
  }

  private func expectUndone(_ workspace: CrateWorkspace) throws {
    try expect(
      !workspace.context.hasChanges, "undoing everything leaves no changes",
      "\(workspace.name): \(CrateText.changes(workspace.context))")
  }

  /// Undoes everything, and then saves or redoes everything.
  func roundTrip(_ workspace: CrateWorkspace) throws {
    let context = workspace.context
    guard context.tracksUndo else { return }
    workspace.touch()
    context.endUndoGroup()
    while context.canRedo, isTrue(onceIn: 2) { redo(workspace) }
    let isStale = workspace.isStale
    let before = try CrateText.lines(context, withDerived: false)
    // After their edits have been undone, a refresh removes objects that others have deleted.
    let checks = CrateChecks(context, container, childOf: workspace.parent?.context)
    let keepsObjects = !context.updatedObjects.contains { checks.isMissing($0) }
    let checksBetween = isTrue(onceIn: 2)
    var undoCount = 0
    while context.canUndo {
      context.undo()
      undoCount += 1
      try expect(undoCount < 10_000, "undo ends")
      if checksBetween { try checkObjects(workspace) }
    }
    record("\(workspace.name): undo everything, \(undoCount) groups, \(checksBetween)")
    try expectUndone(workspace)
    if isTrue(onceIn: 3), keepsObjects {
      record("  refreshAllObjects")
      context.refreshAllObjects()
    }
    try expectStored(workspace, withDerived: false)
    if isTrue(onceIn: 4), workspace.isRoot { return try expectNothingToSave(workspace) }
    var redoCount = 0
    while context.canRedo {
      context.redo()
      redoCount += 1
      try expect(redoCount < 10_000, "redo ends")
    }
    record("  redo everything, \(redoCount) groups")
    // There is nothing to redo if others have deleted all objects that a group changed, and the
    // context has merged this.
    let mayHaveMerged = isStale || context.automaticallyMergesChangesFromParent
    try expect(
      redoCount >= undoCount || mayHaveMerged, "everything undone can be redone", "\(redoCount)")
    if redoCount == undoCount, !isStale {
      let after = try CrateText.lines(context, withDerived: false)
      try expect(
        after == before, "redo restores what was undone",
        "\(workspace.name)\(CrateText.difference(before, after))")
    }
    try check(workspace)
  }

  /// Saves a context in which everything was undone.
  ///
  /// The save must neither write nor conflict (G-02).
  private func expectNothingToSave(_ workspace: CrateWorkspace) throws {
    record("  save")
    let token = try container.currentHistoryToken
    try workspace.context.save()
    let hasWritten = try container.currentHistoryToken != token
    try expect(!hasWritten, "after undoing everything, a save writes nothing", workspace.name)
    workspace.notePin()
    workspace.isStale = false
    try check(workspace)
  }
}
