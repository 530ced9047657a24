extension ManagedObjectContext {
  /// Turns an object into a fault, or reads it again under what was changed in it.
  ///
  /// - Parameters:
  ///   - object: One of this context's.
  ///   - mergeChanges: Whether what was changed here and not saved is kept.
  ///   - force: Whether to drop changed relationships too. Those on their other side stay changed,
  ///     so that the two no longer fit together until both were refreshed.
  /// - Throws: What kept the row from being read; `foreignObject` if the object is not here;
  ///   `unsavedRelationships` if it would drop changed ones without `force`.
  public func refresh(
    _ object: ManagedObject, mergeChanges: Bool, force: Bool = false
  ) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(holding: object) {
      return try part.refresh(object, mergeChanges: mergeChanges, force: force)
    }
    try requireOwn(object)
    guard !object.isInserted, !object.isFault else { return }
    // Its row may be there again, and the program has not deleted that.
    if object.isGivenUp {
      deleted.remove(object)
      object.state.remove(.deleted)
      return turnIntoFault(object)
    }
    // What was set to the value it had is no edit.
    if mergeChanges { _ = settleUnedited(object) }
    guard mergeChanges, let changes = object.changes, !changes.isEmpty else {
      if !force { try requireSavedRelationships(object) }
      updated.remove(object)
      object.state.remove(.updated)
      return turnIntoFault(object)
    }
    try reload(object, under: changes)
  }

  /// Turns all objects into faults, or reads those that were changed again and keeps the changes.
  public func refreshAllObjects() {
    confinement?.enter()
    defer { confinement?.leave() }
    for part in others { part.refreshAllObjects() }
    // What was removed cannot be read again.
    guard !model.isRemoved else { return }
    for object in allRegistered() {
      do { try refresh(object, mergeChanges: true) } catch { whole.faultError = error }
    }
    processPendingChanges()
  }

  private func requireSavedRelationships(_ object: ManagedObject) throws {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    let slots = Set(changes.originals.keys).union(changes.members.keys)
    guard let property = entity.relationships.first(where: { slots.contains($0.slot) }) else {
      return
    }
    throw ObjectGraphError(
      .unsavedRelationships,
      "\(entity.name).\(property.name) was changed and not saved. Save first, take the change "
        + "back, or refresh with force, and what it led to as well.",
      objectID: ManagedObjectID(object.number, model.space))
  }

  // MARK: Changes on top

  /// A reference that was changed here, while its object is read again.
  private struct ChangedReference {
    let property: PropertyDescription
    /// Where it leads here.
    let target: ToOneTarget
    /// What the row had when it was read before.
    let original: StoredValue?
  }

  /// Reads an object again and puts on top what was changed in it.
  private func reload(_ object: ManagedObject, under changes: ObjectChanges) throws {
    guard let entity = object.entityDescription else { return }
    var values: [(PropertyDescription, StoredValue)] = []
    // A new object is referred to by itself: its number leads nowhere while it is taken back.
    var references: [ChangedReference] = []
    for (slot, original) in changes.originals {
      let property = entity.properties[slot]
      if property.isReference {
        _ = toOneTarget(of: object, property)
        references.append(
          ChangedReference(
            property: property, target: object.target(property), original: original))
      } else {
        values.append((property, try object.storedValue(property)))
      }
    }
    guard try fillAgain(object, changes) else {
      // Without a row it has no members but those that were added here.
      if parent == nil { forgetMembers(of: object, entity) }
      return
    }
    try mergeMembers(of: object, under: changes)
    for (property, value) in values { try object.setStoredValue(value, property) }
    for reference in references { object.setTarget(reference.target, reference.property) }
    for reference in references { moveEdit(of: object, reference) }
    _ = settleUnedited(object)
    tell(\.refreshed, object)
  }

  /// Gives a changed object the values of its row, or of the parent's object, which it has been
  /// changed from then; false if there is none.
  private func fillAgain(_ object: ManagedObject, _ changes: ObjectChanges) throws -> Bool {
    guard let entity = object.entityDescription else { return false }
    if let parent {
      guard fill(object, from: parent) else { return false }
      for slot in changes.originals.keys {
        changes.originals[slot] = (try? object.storedValue(entity.properties[slot])) ?? .null
      }
      return true
    }
    let storage = model.storage(of: entity)
    let isThere: Void? = try currentView().withRecord(object.number, storage) { view in
      let theirs = try storage.values(view)
      for slot in changes.originals.keys { changes.originals[slot] = theirs[slot] }
      try fill(object, storage, view)
      forgetMembers(of: object, entity)
    }
    return isThere != nil
  }

  /// Forgets edits of members that others have made, too, and merges ordered lists that were
  /// changed here with those of the store, or of the parent.
  ///
  /// Of one-to-many relationships without an order the members' own references decide
  /// (``moveEdit(of:_:)``).
  private func mergeMembers(of object: ManagedObject, under changes: ObjectChanges) throws {
    guard let entity = object.entityDescription else { return }
    for (slot, before) in changes.members {
      let property = entity.properties[slot]
      guard property.isOrdered || entity.inverses[slot]?.property.isReference == false else {
        continue
      }
      let theirs = try storedMembers(of: object, property)
      let edit = before.without(theirs: Set(theirs)) { undoLog?.forget($0, of: object, property) }
      changes.members[slot] = edit
      guard property.isOrdered, let base = edit.base, let mine = object.members(property) else {
        continue
      }
      let removed = Set(edit.removed.map(\.number))
      let merge = ListMerge(
        base: base.map(\.number), theirs: theirs, mine: mine.map(\.number), prefersMine: true)
      let result = merge.merged(
        theirs.filter { !removed.contains($0) } + edit.added.map(\.number))
      object.setMembers(result.compactMap { self.object($0) }, property)
      changes.members[slot]?.base = theirs.compactMap { self.object($0) }
    }
  }

  /// The members of a relationship that the parent or the generation that is read has.
  private func storedMembers(
    of object: ManagedObject, _ property: PropertyDescription
  ) throws -> [ObjectNumber] {
    if let parent {
      guard let original = parent.object(object.number) else { return [] }
      return parent.loadedMembers(of: original, property).map(\.number)
    }
    guard let entity = object.entityDescription else { return [] }
    return try currentView().numbers(
      in: model.memberKeyspace(property, of: entity), [.integer(object.number.bits)])
  }

  // MARK: The other side

  /// Has an edit of a reference take its object away from where others have put it, not from where
  /// it was.
  ///
  /// Otherwise two owners would show it: the one that the reference leads to here, and the one that
  /// it leads to in the generation that was read.
  private func moveEdit(of object: ManagedObject, _ reference: ChangedReference) {
    let property = reference.property
    guard let inverse = object.entityDescription?.inverses[property.slot]?.property,
      let now = object.changes?.originals[property.slot], now != reference.original
    else { return }
    let mine = toOneTarget(of: object, property)
    if case .integer(let bits) = reference.original,
      let former = registeredObject(ObjectNumber(bits: bits)), former !== mine
    {
      cancel(object, former, inverse) { $0.removed.contains(object) ? $0.join(object) : () }
    }
    guard case .integer(let bits) = now, let theirs = self.object(ObjectNumber(bits: bits)) else {
      return
    }
    if theirs === mine {
      // Others have done the same.
      cancel(object, theirs, inverse) { $0.added.contains(object) ? $0.leave(object) : () }
    } else {
      takeOut(object, of: theirs, inverse)
    }
  }

  /// Takes back an edit of members that others have made, too.
  private func cancel(
    _ member: ManagedObject, _ owner: ManagedObject, _ property: PropertyDescription,
    _ change: (inout MemberChanges) -> Void
  ) {
    guard !property.isReference, owner.changes?.members[property.slot] != nil else { return }
    undoLog?.forget(member, of: owner, property)
    change(&owner.ownChanges.members[property.slot, default: MemberChanges()])
    settleMembers(of: owner, property)
  }

  /// Takes an object out of a relationship that others have put it into, as an edit that was made
  /// when its own side was changed.
  private func takeOut(
    _ object: ManagedObject, of owner: ManagedObject, _ property: PropertyDescription
  ) {
    if owner.isFault { fire(owner) }
    guard !owner.isFault, !owner.isDeleted, !(owner === object && property.isReference) else {
      return
    }
    if property.isReference {
      settle(owner, property)
      guard owner.changes?.originals[property.slot] == nil else { return }
      noteChange(of: owner) { $0.originals[property.slot] = .integer(object.number.bits) }
      owner.setTarget(.none, property)
    } else {
      guard owner.changes?.members[property.slot]?.removed.contains(object) != true else { return }
      noteChange(of: owner) { changes in
        let base = property.isOrdered ? owner.members(property) : nil
        changes.members[property.slot, default: MemberChanges(base: base)].leave(object)
      }
      owner.removeMember(object, property)
    }
    owner.tellIfObserved(property)
  }
}
