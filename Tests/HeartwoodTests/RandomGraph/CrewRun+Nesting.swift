import Heartwood

extension CrewRun {
  /// Performs random steps in a child context, and then saves or discards it.
  func nest(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    let view = workspace.view
    let isPlain = view.work.deleted.allSatisfy { view.now.targets($0, .reserved).isEmpty }
    guard isPlain, !isStale(workspace) else { return }
    let child = CrewWorkspace(
      100 + workspace.number, ManagedObjectContext(parent: workspace.context), .error,
      container: workspace.container)
    child.view.read(parentStore(child, workspace))
    child.context.automaticallyMergesChangesFromParent = step.b % 2 == 0
    for object in try CrewAccess.all(child.context) {
      let original: ManagedObject? = workspace.context.registeredObject(for: object.objectID)
      let tag = original.map { workspace.tag($0) } ?? -1
      child.keep(object, as: tag)
    }
    try expectSame(child, "child")
    for nested in CrewStep.random(12, seed: UInt64(step.a)) {
      switch nested.operation {
      case .insert, .set, .setSame, .relate, .toggle, .reorder, .delete: try edit(child, nested)
      case .nested, .fetch, .count:
        if child.number < 200 { try nest(child, nested) }
      case .sync: try editParent(child, workspace, nested)
      case .rollback:
        child.context.rollback()
        child.view.rollback()
        try expectSame(child, "after a rollback of the child")
      default: continue
      }
      try expectSameSets(child)
    }
    let isPushed = step.c % 4 > 0 ? try push(child, to: workspace) : false
    try expectSame(workspace, "parent, after work in the child")
    child.dropAll()
    if isPushed, step.c % 8 > 4, workspace.number < 100 { try saveParent(child, workspace) }
  }

  /// Returns the content that a child context reads from its parent.
  private func parentStore(_ child: CrewWorkspace, _ workspace: CrewWorkspace) -> CrewStore {
    var store = CrewStore()
    (store.graph, store.generation) = (workspace.view.now, workspace.view.generation)
    for tag in workspace.view.work.deleted { store.graph[tag] = nil }
    return store
  }

  /// Changes an object in the parent, and expects the child to show the change after a complete
  /// fetch.
  private func editParent(_ child: CrewWorkspace, _ workspace: CrewWorkspace, _ step: CrewStep)
    throws
  {
    guard !child.view.hasChanges, !child.context.hasChanges else { return }
    let operations: [CrewOperation] = [.set, .relate, .toggle, .reorder]
    var step = step
    step.operation = operations[step.a % operations.count]
    record("  parent:")
    try edit(workspace, step)
    for object in try CrewAccess.all(child.context) {
      guard child.tag(object) >= 0 else {
        throw CrewMismatch("\(object) was missing in the child before")
      }
    }
    child.view.read(parentStore(child, workspace))
    try expectSame(child, "child, after an edit of the parent")
  }

  /// Saves the parent, and expects the child to show the same values as the parent.
  private func saveParent(_ child: CrewWorkspace, _ workspace: CrewWorkspace) throws {
    record("  saves the parent")
    let before = store.generation
    let isOthers = workspace.view.generation != before
    let new = workspace.view.work.inserted
    try save(workspace, rollsBack: false)
    // Compare only if the parent has saved and is up to date. Without automatic merging, the child
    // does not see the saves of other contexts. If a new object was merged into an existing row,
    // the child does not see the row's values either.
    let isMet = new.contains { workspace.view.now[$0] == nil }
    guard store.generation != before, !workspace.view.hasChanges, !isStale(workspace),
      child.isMerging || !isOthers && !isMet
    else { return }
    for (tag, saved) in workspace.view.now.rows {
      guard let id = ids[tag],
        let object: ManagedObject = try child.context.existingObject(with: id)
      else { throw CrewMismatch("\(tag) was saved in the parent, but is not in the child") }
      var row = saved
      // Without automatic merging, the child does not reread derived attributes.
      if !child.isMerging {
        for field in row.kind.fields where field.isDerived {
          row[field] = CrewAccess.value(field, of: object)
        }
      }
      try expectSame(object, tag, row, in: workspace.view.now, child.context) {
        tagsByID[$0.objectID] ?? -1
      }
    }
  }

  /// Saves a child context to its parent.
  ///
  /// - Returns: `true` if the save succeeded.
  private func push(_ child: CrewWorkspace, to workspace: CrewWorkspace) throws -> Bool {
    record("  saves the child")
    var expected: Set<CrewFailure> = []
    do { try CrewSave(child.view, .error, CrewStore()).validate() } catch { expected = error.all }
    // A save validates every object whose properties were assigned, even if no value changed. Such
    // an object may already be invalid in the parent.
    let isInvalid = child.context.updatedObjects.contains {
      ($0 as? CrewMember)?.title == CrewValue.invalidTitle
    }
    if isInvalid { expected.insert(.validation) }
    for tag in child.view.work.deleted
    where child.view.now.targets(tag, .reserved).contains(where: { child.view.isLive($0) }) {
      expected.insert(.deniedDelete)
    }
    let hadChanges = child.context.hasChanges
    do {
      try child.context.save()
    } catch {
      guard !expected.isEmpty else { throw error }
      try expectSame(child, "after a failed save of the child")
      return false
    }
    guard expected.isEmpty else {
      throw CrewMismatch("the save of the child should throw \(expected)")
    }
    // A child's save forms one undo group in its parent.
    if hadChanges { workspace.view.endGroup() }
    defer { if hadChanges { workspace.view.endGroup() } }
    if child.view.hasChanges { begin(workspace) }
    let work = child.view.work
    for tag in work.inserted {
      let id = try child.object(tag).objectID
      guard let object: ManagedObject = workspace.context.registeredObject(for: id) else {
        throw CrewMismatch("\(tag) was saved in the child, but is not in the parent")
      }
      workspace.keep(object, as: tag)
      workspace.view.work.inserted.append(tag)
    }
    for (tag, properties) in work.wasSet where workspace.view.isNew(tag) {
      workspace.view.work.wasSet[tag, default: []].formUnion(properties)
    }
    for tag in child.view.edited where workspace.view.isNew(tag) {
      guard let old = child.view.base[tag], let row = work.now[tag] else { continue }
      for field in row.kind.fields where row[field] != old[field] {
        workspace.view.work.wasSet[tag, default: []].insert(field.rawValue)
      }
      for link in row.kind.links where link.isToOne && row[link] != old[link] {
        workspace.view.work.wasSet[tag, default: []].insert(100 + link.rawValue)
      }
    }
    let before = workspace.view.now
    workspace.view.now = work.now
    for tag in workspace.view.work.deleted { workspace.view.now[tag] = before[tag] }
    for tag in work.deleted {
      if let row = before[tag] { workspace.view.now[tag]?.values = row.values }
      if workspace.view.isNew(tag) {
        workspace.view.work.now.forget(tag)
        workspace.view.work.inserted.removeAll { $0 == tag }
      } else {
        workspace.view.work.deleted.insert(tag)
      }
    }
    return true
  }
}
