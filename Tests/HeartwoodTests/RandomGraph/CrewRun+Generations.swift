import Heartwood

extension CrewRun {
  // MARK: Pins

  /// Pins a context to the newest generation, removes its pin, or turns automatic merging on or
  /// off.
  func pin(_ place: CrewPlace, _ step: CrewStep) throws {
    switch step.operation {
    case .pin:
      // Its unsaved changes would be applied on top of another generation.
      guard !place.isMerging, place.view.canRebase(store) else { return }
      try place.context.setQueryGenerationFrom(.current)
      place.pinned = store
      try sync(place)
    case .unpin:
      guard place.pinned != nil else { return }
      try place.context.setQueryGenerationFrom(nil)
      place.pinned = nil
      guard place.context.queryGenerationToken == nil else {
        throw CrewMismatch("there is a token without a pin")
      }
    default:
      guard place.pinned == nil else { return }
      place.context.automaticallyMergesChangesFromParent.toggle()
      // It merges whatever is saved from now on.
      guard place.isMerging else { return }
      if place.view.canRebase(store) { try sync(place) } else { try rollback(place) }
    }
    try expectSame(place, "after \(step.operation)")
  }

  // MARK: Merging

  /// Merges what others have saved since the context has read everything.
  func merge(_ place: CrewPlace, _ step: CrewStep) throws {
    guard place.view.canRebase(store), place.view.generation != store.generation else { return }
    note("  context \(place.number) merges \(place.view.generation + 1)...\(store.generation)")
    if place.isMerging {
      _ = try place.context.count(for: FetchRequest<CrewBadge>())
      return try expectMerged(place)
    }
    if step.operation == .mergeChangeSet {
      guard let pinned = place.pinned, let token = place.context.queryGenerationToken else {
        return
      }
      let changes = try containers[place.container].changes(from: token, to: .current)
      try expectSame(changes, pinned.graph)
      try place.context.mergeChanges(changes)
    } else {
      for generation in (place.view.generation + 1)...store.generation {
        for transaction in transactions[generation] ?? [] {
          try place.context.mergeChanges(from: transaction)
        }
      }
    }
    if place.pinned != nil { place.pinned = store }
    try expectMerged(place)
  }

  /// Expects registered objects to be up to date without a fetch.
  private func expectMerged(_ place: CrewPlace) throws {
    try expectMerged(place, all: false)
    try readAll(place)
  }

  /// Expects each registered object with a row to equal the store.
  ///
  /// - Parameter all: Whether there were no unsaved changes on top.
  func expectMerged(_ place: CrewPlace, all: Bool) throws {
    var after = place.view
    after.rebase(store)
    for tag in store.graph.rows.keys where place.handlesObject(tag) {
      if all || !place.view.isEdited(tag) && !after.isEdited(tag) { try expectMerged(place, tag) }
    }
  }

  private func expectMerged(_ place: CrewPlace, _ tag: Int) throws {
    guard let row = store.graph[tag] else { return }
    let object = try place.object(tag)
    for field in row.kind.fields {
      let value = CrewAccess.value(field, of: object)
      guard value == row[field] else {
        throw CrewMismatch("\(tag).\(field) was merged, and is \(value), not \(row[field])")
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
        throw CrewMismatch("\(tag).\(link) was merged, and is \(found), not \(expected)")
      }
    }
  }

  /// Expects a change set to describe the difference between a generation and the newest one.
  private func expectSame(_ changes: ChangeSet, _ earlier: CrewGraph) throws {
    var later = CrewStore()
    later.graph = earlier
    let expected = later.commit(store.graph)
    func tags(_ ids: some Sequence<ManagedObjectID>) -> Set<Int> {
      Set(ids.map { tagsByID[$0] ?? -1 })
    }
    guard tags(changes.inserted) == expected.inserted, tags(changes.deleted) == expected.deleted
    else { throw CrewMismatch("the change set is \(changes), and should be \(expected)") }
    for (tag, all) in expected.updated {
      // A reference to a missing row may be cleared whenever its own row is written.
      let names = all.subtracting(["mentor"])
      guard
        names.isEmpty || ids[tag].flatMap({ changes.updated[$0] })?.isSuperset(of: names) == true
      else {
        throw CrewMismatch("the change set does not have \(names) of \(tag)")
      }
    }
  }

  /// Deletes the complete history.
  func deleteHistory(_ step: CrewStep) throws {
    guard setting.deletesHistory, let token = historyToken else { return }
    try containers[step.a % containers.count].deleteHistory(before: token)
    let left = try containers[0].fetchHistory(after: token)
    guard left.isEmpty else { throw CrewMismatch("the history has \(left.count) transactions") }
  }

  /// Reverts all rows to the generation to which a context is pinned.
  func revert(_ place: CrewPlace) throws {
    guard let pinned = place.pinned, let token = place.context.queryGenerationToken else { return }
    note("  reverts to \(pinned.generation)")
    let changes = try containers[place.container].revert(to: token)
    let difference = store.commit(pinned.graph)
    let named = [changes.inserted, changes.deleted, Set(changes.updated.keys)].map { ids in
      Set(ids.map { tagsByID[$0] ?? -1 })
    }
    guard named[0] == difference.inserted, named[1] == difference.deleted,
      // A reference to a missing row may be cleared whenever its own row is written.
      named[2].isSuperset(of: difference.updated.filter { $0.value != ["mentor"] }.keys)
    else { throw CrewMismatch("revert says \(changes), and changed \(difference)") }
    try expectStored("after a revert")
    try expectHistory(difference, isExact: false, "after a revert")
  }
}
