import Heartwood

extension CrewRun {
  /// Saves a context, and compares the store, the history and the context.
  ///
  /// - Parameter rollsBack: Whether the context rolls back if it cannot be saved.
  func save(_ place: CrewPlace, rollsBack: Bool) throws {
    let hadChanges = place.context.hasChanges
    let wasStale = place.view.generation != store.generation
    if place.isMerging, isStale(place) {
      if !place.view.canRebase(store) { return try rollback(place) }
      if place.view.changedOrders.isEmpty {
        place.view.rebase(store)
      } else {
        _ = try place.context.count(for: FetchRequest<CrewBadge>())
        try readAll(place)
      }
    }
    var reference = CrewSave(place.view, place.policy, store)
    var expected: Set<CrewFailure> = []
    if place.view.hasChanges || !place.view.watched.isEmpty {
      do { try reference.run() } catch { expected = error.all }
    }
    do {
      try place.context.save()
    } catch {
      note("  throws \(error)")
      if place.isMerging, wasStale { try readAll(place) }
      try expectFailure(place, error, expected)
      return rollsBack ? try rollback(place) : ()
    }
    guard expected.isEmpty else {
      throw CrewMismatch("the save should throw \(expected)")
    }
    count("saved")
    try finish(place, reference, hadChanges, wasStale)
  }

  private func expectFailure(
    _ place: CrewPlace, _ error: any Error, _ expected: Set<CrewFailure>
  ) throws {
    count("refused")
    // Of several failures, the reference may have found only the first.
    let failures = (error as? ObjectGraphError).map { [$0] + $0.failures } ?? []
    let kinds = Set(failures.compactMap { CrewFailure(rawValue: $0.kind.description) })
    guard !kinds.isDisjoint(with: expected) || expected.count > 1 && kinds == [.validation] else {
      throw CrewMismatch("the save throws \(error), and should \(expected)")
    }
    try expectSame(place, "after a save that failed")
    try expectSameSets(place)
    try expectHistory(CrewDifference(), isExact: true, "after a save that failed")
  }

  private func finish(
    _ place: CrewPlace, _ reference: CrewSave, _ hadChanges: Bool, _ wasStale: Bool
  ) throws {
    for tag in place.view.work.inserted where reference.became[tag] == nil {
      try name(tag, place.object(tag))
    }
    let result = try settled(reference)
    let difference = place.view.hasChanges ? store.commit(result) : CrewDifference()
    let isExact = reference.contested.isEmpty && reference.became.isEmpty && !reference.isOpen
    // In one context, which is compared each time, the store is checked only now and then.
    if !isExact || wasStale || store.generation % 4 == 0 { try expectStored("after a save") }
    try expectHistory(difference, isExact: isExact, "after a save")
    try replaceNew(place, reference)
    let gone = place.view.work.deleted
    if place.pinned != nil {
      place.pinned = store
      // The next read determines the generation.
      _ = try place.context.count(for: FetchRequest<CrewBadge>())
    }
    // A save without changes has no effect, and keeps the undo log.
    let isKept = !hadChanges && (place.view.canUndo || !place.view.future.isEmpty)
    if isKept {
      place.view.watched = []
      return try expectSame(place, "after a save without changes")
    }
    if wasStale {
      try expectAgreement(place, "in the context that has saved")
      place.view.read(store)
      if !reference.contested.isEmpty { try expectMerged(place, all: true) }
      try sync(place)
    } else {
      place.view.read(store)
      try expectSame(place, "after a save")
    }
    for tag in gone where place.view.now[tag] == nil { place.drop(tag) }
    try expectPruned(place, "after a save")
  }

  /// Records the permanent ID of an object.
  func name(_ tag: Int, _ object: ManagedObject) throws {
    let id = object.objectID
    guard !id.isTemporary else { throw CrewMismatch("\(tag) was saved, and its ID is temporary") }
    if let other = tagsByID[id], other != tag {
      throw CrewMismatch("\(tag) has the ID of \(other)")
    }
    tagsByID[id] = tag
    ids[tag] = id
  }

  /// Returns the result of the save; where the guarantees permit several results, that of the
  /// store.
  private func settled(_ reference: CrewSave) throws -> CrewGraph {
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

  /// Returns the content of the store, with references to missing rows in rows that were not
  /// written: they are valid again if the row returns.
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

  /// New objects that became an existing row are that row's objects, or have left the context.
  private func replaceNew(_ place: CrewPlace, _ reference: CrewSave) throws {
    for (tag, met) in reference.became {
      let object = try place.object(tag)
      guard object.objectID == ids[met] else {
        throw CrewMismatch("\(tag) has become \(met), and its ID is \(object.objectID)")
      }
      guard let row = store.graph[met] else { continue }
      for field in row.kind.fields {
        let value = CrewAccess.value(field, of: object)
        guard value == row[field] else {
          throw CrewMismatch("\(tag), which is \(met), has \(field) \(value), not \(row[field])")
        }
      }
      place.drop(tag)
      if place.handlesObject(met) { continue }
      place.keep(object, as: met)
    }
  }

  // MARK: Giving up

  func rollback(_ place: CrewPlace) throws {
    place.context.rollback()
    note("  rolled back")
    for tag in place.view.work.inserted { try expectLeft(place, tag) }
    let wasStale = isStale(place)
    place.view.rollback()
    try expectSameSets(place)
    if wasStale { try sync(place) } else { try expectSame(place, "after a rollback") }
    try expectPruned(place, "after a rollback")
  }

  /// A new object whose insertion was reverted keeps its attributes, and belongs to no context.
  private func expectLeft(_ place: CrewPlace, _ tag: Int) throws {
    guard let row = place.view.now[tag] else { return }
    let object = try place.object(tag)
    for field in row.kind.fields where CrewAccess.value(field, of: object) != row[field] {
      throw CrewMismatch("\(tag).\(field) is not what it was before it was rolled back")
    }
    for link in row.kind.links where !CrewAccess.targets(link, of: object).isEmpty {
      throw CrewMismatch("\(tag) has \(link), though it was rolled back")
    }
    guard object.managedObjectContext == nil, !object.hasChanges else {
      throw CrewMismatch("\(tag) was rolled back, and belongs to a context")
    }
  }

  func reset(_ place: CrewPlace) throws {
    let objects = place.view.now.rows.keys.compactMap { tag in
      try? WeakObject(place.object(tag))
    }
    place.dropAll()
    place.context.reset()
    let left = objects.compactMap(\.object)
    guard left.isEmpty else {
      throw CrewMismatch("\(left.count) objects outlive reset")
    }
    place.view.rollback()
    if place.pinned != nil { place.pinned = store }
    try sync(place)
  }

  /// Expects unused objects that left the context to be deallocated.
  func expectPruned(_ place: CrewPlace, _ moment: String) throws {
    for (tag, object) in place.prune() where object.object != nil {
      // A reference without an inverse retains its target.
      let isHeld = place.handles.values.contains { ($0 as? CrewMember)?.mentor === object.object }
      // The next save would check whether others have changed it.
      if isHeld || place.view.watched.contains(tag) { continue }
      throw CrewMismatch("\(moment): \(tag) is not freed, though nobody holds it")
    }
  }

  /// Updates a context without changes by rereading everything.
  func sync(_ place: CrewPlace) throws {
    place.context.refreshAllObjects()
    try readAll(place)
  }

  /// Returns whether others have saved since the context has read everything.
  func isStale(_ place: CrewPlace) -> Bool {
    place.view.generation != (place.pinned ?? store).generation
  }

  /// Fetches everything, and compares it with a context that has seen all changes of others.
  func readAll(_ place: CrewPlace) throws {
    let orders = isStale(place) ? place.view.changedOrders : []
    place.view.rebase(place.pinned ?? store)
    var found: Set<Int> = []
    for object in try CrewAccess.all(place.context) {
      guard let tag = tagsByID[object.objectID] else {
        throw CrewMismatch("there is an object that nobody made: \(object.objectID)")
      }
      found.insert(tag)
      if place.handlesObject(tag) {
        guard try place.object(tag) === object else {
          throw CrewMismatch("\(tag) is two objects in one context")
        }
      } else {
        place.keep(object, as: tag)
      }
    }
    guard found == Set(place.view.now.rows.keys) else {
      throw CrewMismatch("a fetch finds \(found.sorted())")
    }
    for (tag, link) in orders + (orders.isEmpty ? [] : place.view.changedOrders) {
      try takeOrder(of: tag, link, place)
    }
    try expectSame(place, "after everything was read again")
    try expectPruned(place, "after everything was read again")
  }

  /// Adopts the order that a context has merged, after checking its members.
  private func takeOrder(of tag: Int, _ link: CrewLink, _ place: CrewPlace) throws {
    let found = CrewAccess.targets(link, of: try place.object(tag)).map { place.tag($0) }
    guard Set(found) == Set(place.view.now.targets(tag, link)) else { return }
    place.view.now[tag]?[link] = found
  }
}
