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
    let isPushed = step.c % 4 > 0 ? try change(child, workspace, step) : false
    try expectSame(workspace, "parent, after work in the child")
    if isPushed { try expectParent(child, workspace) }
    child.dropAll()
    if isPushed, step.c % 8 > 4, workspace.number < 100 { try saveParent(child, workspace) }
  }

  /// Changes the parent beside a child, and saves the child to the parent.
  ///
  /// - Returns: `true` if the save of the child succeeded.
  private func change(
    _ child: CrewWorkspace, _ workspace: CrewWorkspace, _ step: CrewStep
  ) throws -> Bool {
    let isChanged = try changeParent(child, workspace, step)
    let isReleased = step.a % 3 == 0
    if isReleased { try releaseObjects(of: workspace) }
    let isPushed = try push(child, to: workspace, isChanged: isChanged)
    if isReleased { try fetchReleased(workspace) }
    return isPushed
  }

  /// Fetches everything in a child that has saved, and expects the child to equal its parent.
  private func expectParent(_ child: CrewWorkspace, _ workspace: CrewWorkspace) throws {
    for object in try CrewAccess.all(child.context) where child.tag(object) < 0 {
      throw CrewMismatch("\(object) was missing in the child before its save")
    }
    child.view.read(parentStore(child, workspace))
    try expectSame(child, "child, after its save")
  }

  /// Returns the content that a child context reads from its parent.
  func parentStore(_ child: CrewWorkspace, _ workspace: CrewWorkspace) -> CrewStore {
    var store = CrewStore()
    (store.graph, store.generation) = (workspace.view.now, workspace.view.generation)
    for tag in workspace.view.work.deleted { store.graph[tag] = nil }
    return store
  }

  /// Saves a child context to its parent.
  ///
  /// - Parameter isChanged: `true` if the parent may have changed since the child read it.
  /// - Returns: `true` if the save succeeded.
  private func push(
    _ child: CrewWorkspace, to workspace: CrewWorkspace, isChanged: Bool
  ) throws -> Bool {
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
      if !isChanged { try expectSame(child, "after a failed save of the child") }
      return false
    }
    guard expected.isEmpty else {
      throw CrewMismatch("the save of the child should throw \(expected)")
    }
    // A child's save forms one undo group in its parent.
    if hadChanges { workspace.view.endGroup() }
    defer { if hadChanges { workspace.view.endGroup() } }
    let former = workspace.view.work
    try receive(child, workspace)
    // If the parent had made the same changes, the save changes nothing.
    let saved = workspace.view.work
    guard child.view.hasChanges, !saved.isSame(as: former) else { return true }
    workspace.view.work = former
    begin(workspace)
    workspace.view.work = saved
    return true
  }

  /// Applies the changes of a child that was saved to the parent's reference.
  private func receive(_ child: CrewWorkspace, _ workspace: CrewWorkspace) throws {
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
    workspace.view.now = child.view.pushed(to: before)
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
    // A cascade also deletes the jobs that only the parent has added to a deleted object.
    for tag in work.deleted.sorted() {
      let known = child.view.base.targets(tag, .jobs)
      for job in before.targets(tag, .jobs) where !known.contains(job) {
        _ = workspace.view.delete(job)
      }
    }
  }
}
