import Heartwood

extension CrewRun {
  // MARK: Pins

  /// Pins a context to the newest generation, removes its pin, or toggles automatic merging.
  func pin(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    switch step.operation {
    case .pin:
      guard !workspace.isMerging else { return }
      if try pinToEarlierGeneration(workspace, step) { break }
      // Pinning reapplies unsaved changes to a different generation, so check that this is
      // possible.
      guard workspace.view.canRebase(store) else { return }
      try workspace.context.setQueryGenerationFrom(.current)
      workspace.pinned = store
      try sync(workspace)
    case .unpin:
      guard workspace.pinned != nil else { return }
      try workspace.context.setQueryGenerationFrom(nil)
      workspace.pinned = nil
      guard workspace.context.queryGenerationToken == nil else {
        throw CrewMismatch("there is a token without a pin")
      }
    default:
      guard workspace.pinned == nil else { return }
      workspace.context.automaticallyMergesChangesFromParent.toggle()
      // From now on, the context merges only new saves, so bring the context up to date first.
      guard workspace.isMerging else { return }
      if workspace.view.canRebase(store) { try sync(workspace) } else { try rollback(workspace) }
    }
    try expectSame(workspace, "after \(step.operation)")
  }

  /// Pins a context to the earlier generation of another context.
  ///
  /// The context's changes are rolled back first, because an edit of a newer generation remains an
  /// edit even if it equals the earlier generation (QG-22).
  ///
  /// - Returns: `false` if no other context is pinned to an earlier generation.
  private func pinToEarlierGeneration(
    _ workspace: CrewWorkspace, _ step: CrewStep
  ) throws -> Bool {
    let earlier = workspaces.filter {
      $0 !== workspace && ($0.pinned?.generation ?? store.generation) < store.generation
    }
    guard step.b % 3 > 0, let source = one(earlier.map(\.number), step.c).map({ workspaces[$0] }),
      let token = source.context.queryGenerationToken, token != .current
    else { return false }
    try rollback(workspace)
    try workspace.context.setQueryGenerationFrom(token)
    workspace.pinned = source.pinned
    record("  at generation \(source.pinned?.generation ?? 0)")
    count("pinned earlier")
    try sync(workspace)
    return true
  }

  // MARK: Merging

  /// Merges all saves since the context last read everything.
  func merge(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    guard workspace.view.canRebase(store), workspace.view.generation != store.generation else {
      return
    }
    record(
      "  context \(workspace.number) merges \(workspace.view.generation + 1)...\(store.generation)")
    if workspace.isMerging {
      _ = try workspace.context.count(for: FetchRequest<CrewBadge>())
      return try expectMerged(workspace)
    }
    if step.operation == .mergeChangeSet {
      guard let pinned = workspace.pinned, let token = workspace.context.queryGenerationToken else {
        return
      }
      let changes = try containers[workspace.container].changes(from: token, to: .current)
      try expectSame(changes, pinned.graph)
      try workspace.context.mergeChanges(changes)
    } else {
      for generation in (workspace.view.generation + 1)...store.generation {
        for transaction in transactions[generation] ?? [] {
          try workspace.context.mergeChanges(from: transaction)
        }
      }
    }
    if workspace.pinned != nil { workspace.pinned = store }
    try expectMerged(workspace)
  }

  /// Expects registered objects to be up to date without a fetch.
  private func expectMerged(_ workspace: CrewWorkspace) throws {
    try expectMerged(workspace, all: false)
    try readAll(workspace)
  }

  /// Expects each registered object that has a row to equal the row.
  ///
  /// - Parameter all: `true` to compare objects with unsaved changes as well.
  func expectMerged(_ workspace: CrewWorkspace, all: Bool) throws {
    var after = workspace.view
    after.rebase(store)
    for tag in store.graph.rows.keys where workspace.handlesObject(tag) {
      if all || !workspace.view.isEdited(tag) && !after.isEdited(tag) {
        try expectMerged(workspace, tag)
      }
    }
  }

  private func expectMerged(_ workspace: CrewWorkspace, _ tag: Int) throws {
    guard let row = store.graph[tag] else { return }
    let object = try workspace.object(tag)
    for field in row.kind.fields {
      let value = CrewAccess.value(field, of: object)
      guard value == row[field] else {
        throw CrewMismatch("\(tag).\(field) was merged, but is \(value), not \(row[field])")
      }
    }
    for link in row.kind.links {
      let targets = CrewAccess.targets(link, of: object)
      if link.inverse == nil, targets.contains(where: { $0.managedObjectContext == nil }) {
        continue
      }
      let expected = store.graph.shown(row, link)
      let found = targets.map { tagsByID[$0.objectID] ?? -1 }
        .filter { link.inverse != nil || store.graph[$0] != nil }
      guard found == expected || !link.isOrdered && Set(found) == Set(expected) else {
        throw CrewMismatch("\(tag).\(link) was merged, but is \(found), not \(expected)")
      }
    }
  }

  /// Expects a change set to describe the differences between an earlier generation and the newest
  /// one.
  private func expectSame(_ changes: ChangeSet, _ earlier: CrewGraph) throws {
    var later = CrewStore()
    later.graph = earlier
    let expected = later.commit(store.graph)
    func tags(_ ids: some Sequence<ManagedObjectID>) -> Set<Int> {
      Set(ids.map { tagsByID[$0] ?? -1 })
    }
    guard tags(changes.inserted) == expected.inserted, tags(changes.deleted) == expected.deleted
    else { throw CrewMismatch("the change set is \(changes) instead of \(expected)") }
    for (tag, all) in expected.updated {
      // Writing a row may clear its reference to a missing row.
      let names = all.subtracting(["mentor"])
      guard
        names.isEmpty || ids[tag].flatMap({ changes.updated[$0] })?.isSuperset(of: names) == true
      else {
        throw CrewMismatch("the change set lacks \(names) of \(tag)")
      }
    }
  }

  func deleteHistory(_ step: CrewStep) throws {
    guard setting.deletesHistory, let token = historyToken else { return }
    try containers[step.a % containers.count].deleteHistory(before: token)
    let left = try containers[0].fetchHistory(after: token)
    guard left.isEmpty else { throw CrewMismatch("the history has \(left.count) transactions") }
  }

  /// Reverts all rows to the generation to which a context is pinned.
  func revert(_ workspace: CrewWorkspace) throws {
    guard let pinned = workspace.pinned, let token = workspace.context.queryGenerationToken else {
      return
    }
    record("  reverts to \(pinned.generation)")
    let changes = try containers[workspace.container].revert(to: token)
    let difference = store.commit(pinned.graph)
    let named = [changes.inserted, changes.deleted, Set(changes.updated.keys)].map { ids in
      Set(ids.map { tagsByID[$0] ?? -1 })
    }
    guard named[0] == difference.inserted, named[1] == difference.deleted,
      // Writing a row may clear its reference to a missing row.
      named[2].isSuperset(of: difference.updated.filter { $0.value != ["mentor"] }.keys)
    else { throw CrewMismatch("the revert reports \(changes), but changed \(difference)") }
    try expectStored("after a revert")
    try expectHistory(difference, isExact: false, "after a revert")
  }
}
