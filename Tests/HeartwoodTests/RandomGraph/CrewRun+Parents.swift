import Heartwood
import HeartwoodTestSupport

/// Steps of a parent context while it has a child context.
extension CrewRun {
  /// Changes an object in the parent, and expects the child to show the change after a complete
  /// fetch.
  func editParent(_ child: CrewWorkspace, _ workspace: CrewWorkspace, _ step: CrewStep)
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
  func saveParent(_ child: CrewWorkspace, _ workspace: CrewWorkspace) throws {
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

  // MARK: Beside unsaved changes of the child

  /// Changes, refreshes or saves the parent while the child has unsaved changes.
  ///
  /// The child does not read the changes before its save. The parent may change any attribute, but
  /// only those relationships whose objects the child has not changed, so that the result of the
  /// child's save is exact. The parent may also add jobs to objects that the child has deleted.
  ///
  /// - Returns: `true` if the parent may have changed.
  func changeParent(
    _ child: CrewWorkspace, _ workspace: CrewWorkspace, _ step: CrewStep
  ) throws -> Bool {
    var random = SeededGenerator(seed: UInt64(step.b))
    // Save first, because a merging child then reads what the parent has changed.
    let isSaved = random.below(4) == 0
    if isSaved { try saveBeside(workspace) }
    let count = random.below(4)
    for _ in 0..<count {
      var step = CrewStep(
        operation: .set, workspace: 0, a: random.below(5040), b: random.below(5040),
        c: random.below(5040))
      record("  parent, beside the child's changes:")
      switch random.below(7) {
      case 0...2: try edit(workspace, step)
      case 3: try relateBeside(child, workspace, step)
      case 4: try addToDeleted(child, workspace, step)
      default:
        step.operation = [.refresh, .refreshAll, .drop][step.b % 3]
        try refresh(workspace, step)
      }
    }
    return isSaved || count > 0
  }

  /// Returns the objects that neither the child nor the parent has deleted, and that the child has
  /// not changed.
  private func free(_ child: CrewWorkspace, _ workspace: CrewWorkspace) -> [Int] {
    workspace.view.live.filter { child.view.isLive($0) && !child.view.isEdited($0) }
  }

  /// Gives a member that the child has deleted another job in the parent.
  private func addToDeleted(
    _ child: CrewWorkspace, _ workspace: CrewWorkspace, _ step: CrewStep
  ) throws {
    let free = free(child, workspace)
    let members = child.view.work.deleted.sorted().filter {
      workspace.view.isLive($0) && workspace.view.now[$0]?.kind.isMember == true
    }
    let jobs = free.filter { job in
      workspace.view.now[job]?.kind == .job
        && workspace.view.now.targets(job, .owner).allSatisfy(free.contains)
    }
    guard let tag = one(members, step.a), let row = workspace.view.now[tag],
      let job = one(jobs, step.b)
    else { return }
    try toggle(workspace, tag, row, .jobs, job)
  }

  /// Changes a relationship in the parent, if the child has changed none of its objects.
  private func relateBeside(
    _ child: CrewWorkspace, _ workspace: CrewWorkspace, _ step: CrewStep
  ) throws {
    let free = free(child, workspace)
    guard let tag = one(free, step.a), let row = workspace.view.now[tag] else { return }
    let links = row.kind.links.filter { $0.inverse != nil }
    let link = links[step.b % links.count]
    guard let inverse = link.inverse,
      let other = one(candidates(link, workspace).filter(free.contains), step.c),
      (row[link] + workspace.view.now.targets(other, inverse)).allSatisfy(free.contains)
    else { return }
    try toggle(workspace, tag, row, link, other)
  }

  /// Returns whether a context is a root context that shows the newest generation.
  private func isNewest(_ workspace: CrewWorkspace) -> Bool {
    workspace.number < 100 && workspace.view.generation == store.generation
  }

  /// Saves the parent, unless the save could merge new objects into existing rows.
  private func saveBeside(_ workspace: CrewWorkspace) throws {
    guard isNewest(workspace), workspace.policy == .error || workspace.view.work.inserted.isEmpty
    else { return }
    try save(workspace, rollsBack: false)
  }

  // MARK: Releasing the parent's objects

  /// Releases the parent's saved objects, so that the child saves to objects that were not loaded.
  func releaseObjects(of workspace: CrewWorkspace) throws {
    record("  parent: releases its objects")
    workspace.context.refreshAllObjects()
    try readDeleted(workspace)
    var released: [WeakObject] = []
    for tag in workspace.view.live where !workspace.view.isNew(tag) && ids[tag] != nil {
      released.append(WeakObject(try workspace.object(tag)))
      workspace.drop(tag)
    }
    if released.contains(where: { $0.object == nil }) { count("parent released") }
  }

  /// Finds the released objects again, including those that the child's save has deleted.
  func fetchReleased(_ workspace: CrewWorkspace) throws {
    let context = workspace.context
    for object in try CrewAccess.all(context) + Array(context.deletedObjects)
    where workspace.tag(object) < 0 {
      guard let tag = tagsByID[object.objectID] else {
        throw CrewMismatch("an unknown object exists: \(object.objectID)")
      }
      workspace.keep(object, as: tag)
    }
  }
}

extension CrewView {
  /// Returns the content of the parent after a save of a child that shows this view.
  ///
  /// - Parameter parent: The parent's content, which may have changed since the child read it. The
  ///   relationships of objects that the child has changed must be unchanged.
  func pushed(to parent: CrewGraph) -> CrewGraph {
    var result = now
    for (tag, row) in parent.rows where !work.deleted.contains(tag) {
      guard let before = base[tag], let mine = now[tag] else { continue }
      guard isEdited(tag) else {
        result[tag] = row
        continue
      }
      for field in row.kind.fields where field.isDerived || mine[field] == before[field] {
        result[tag]?[field] = row[field]
      }
      // A save of the parent clears references to missing rows.
      if mine[.mentor] == before[.mentor] { result[tag]?[.mentor] = row[.mentor] }
    }
    return result
  }
}

extension CrewView.Work {
  /// Returns whether the work contains the same objects with the same properties.
  func isSame(as other: Self) -> Bool {
    inserted == other.inserted && deleted == other.deleted
      && now.rows.count == other.now.rows.count
      && now.rows.allSatisfy { tag, row in other.now[tag].map { row.isSame(as: $0) } ?? false }
  }
}
