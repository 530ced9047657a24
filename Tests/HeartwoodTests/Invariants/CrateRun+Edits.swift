import Heartwood

/// Steps that change single objects.
extension CrateRun {
  func create(_ workspace: CrateWorkspace) {
    workspace.touch()
    let context = workspace.context
    let object: any CrateObject
    switch below(10) {
    case 0, 1: object = Crate(context: context)
    case 2, 3:
      let sealed = SealedCrate(context: context)
      if isTrue(onceIn: 3) { sealed.seal = below(3) }
      object = sealed
    case 4, 5, 6: object = CrateItem(context: context)
    case 7, 8: object = CrateTag(context: context)
    default: object = CrateLock(context: context)
    }
    object.serial = nextSerial()
    // Do not assign `nil`, because that would count as setting the value (C-11).
    if let code = code() { object.code = code }
    if isTrue(onceIn: 2) { object.number = below(4) }
    if isTrue(onceIn: 2) { object.text = text() }
    record("\(workspace.name): new \(CrateText.line(object, withDerived: false))")
  }

  func set(_ workspace: CrateWorkspace) throws {
    let objects = try CrateText.objects(workspace.context)
    guard let object = one(objects) as? any CrateObject else { return }
    workspace.touch()
    switch below(5) {
    case 0: object.code = code()
    case 1, 2: object.number = below(4)
    case 3: object.text = text()
    default: (object as? SealedCrate)?.seal = isTrue(onceIn: 2) ? nil : below(3)
    }
    record("\(workspace.name): set \(CrateText.line(object, withDerived: false))")
  }

  func delete(_ workspace: CrateWorkspace) throws {
    for _ in 0..<(isTrue(onceIn: 4) ? 2 : 1) {
      guard let object = one(try CrateText.objects(workspace.context)) else { return }
      workspace.touch()
      if isTrue(onceIn: 3), workspace.isRoot { retained.append(object) }
      let name = CrateText.name(object)
      record("\(workspace.name): delete \(name)")
      workspace.context.delete(object)
      guard isTrue(onceIn: 4) else { continue }
      record("\(workspace.name): insert \(name)")
      workspace.context.insert(object)
    }
  }

  /// Inserts an object that was deleted earlier, in the same step or before the last saves.
  func insertAgain(_ workspace: CrateWorkspace) {
    guard workspace.isRoot, !retained.isEmpty else { return }
    let object = retained.remove(at: below(retained.count))
    let context = object.managedObjectContext
    // An object that left its context with a row cannot be inserted.
    let isInsertable = context == nil ? object.objectID.isTemporary : context === workspace.context
    guard isInsertable else { return }
    workspace.touch()
    record("\(workspace.name): insert \(CrateText.name(object)) again, deleted \(context != nil)")
    workspace.context.insert(object)
  }

  func obtainIDs(_ workspace: CrateWorkspace) throws {
    guard workspace.isRoot else { return }
    workspace.touch()
    let new = Array(workspace.context.insertedObjects)
    record("\(workspace.name): obtainPermanentIDs of \(CrateText.set(new))")
    try workspace.context.obtainPermanentIDs(for: new)
  }

  // MARK: Reverting

  func rollback(_ workspace: CrateWorkspace) throws {
    record("\(workspace.name): rollback")
    workspace.touch()
    workspace.context.rollback()
    let hasChanges = workspace.context.hasChanges
    try expect(
      !hasChanges, "rollback leaves no changes", CrateText.changes(workspace.context))
  }

  func reset(_ workspace: CrateWorkspace) throws {
    guard isTrue(onceIn: 3) else { return }
    record("\(workspace.name): reset")
    workspace.touch()
    // Objects that have a row cannot be inserted after a reset.
    retained = []
    workspace.context.reset()
    let hasChanges = workspace.context.hasChanges
    try expect(!hasChanges, "reset leaves no changes", CrateText.changes(workspace.context))
  }

  func refresh(_ workspace: CrateWorkspace) throws {
    guard let object = one(try CrateText.objects(workspace.context)) else { return }
    workspace.touch()
    let (merges, isForced) = (!isTrue(onceIn: 3), isTrue(onceIn: 2))
    record("\(workspace.name): refresh \(CrateText.name(object)), \(merges), \(isForced)")
    do {
      try workspace.context.refresh(object, mergeChanges: merges, force: isForced)
    } catch let error as ObjectGraphError {
      let isExpected = error.kind == .unsavedRelationships && !merges && !isForced
      try expect(isExpected, "refresh throws only for relationships", "\(error)")
    }
  }

  func refreshAll(_ workspace: CrateWorkspace) throws {
    if let parent = workspace.parent, isTrue(onceIn: 2) { try refreshAll(parent) }
    record("\(workspace.name): refreshAllObjects")
    workspace.touch()
    workspace.context.refreshAllObjects()
    // Both sides of a relationship must now agree, even if the objects have edits.
    if !workspace.isPinned { workspace.isStale = false }
    if !workspace.isStale { try check(workspace) }
  }
}
