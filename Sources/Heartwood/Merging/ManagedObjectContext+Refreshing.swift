extension ManagedObjectContext {
  /// Turns an object into a fault, or rereads it and keeps its unsaved changes.
  ///
  /// The method rereads the object only if it was deleted, or if `mergeChanges` is `true` and the
  /// object has unsaved changes. A deleted object stays deleted. New objects and unchanged faults
  /// are not affected.
  ///
  /// - Parameters:
  ///   - object: An object of this context.
  ///   - mergeChanges: Whether to keep unsaved changes.
  ///   - force: Whether to discard unsaved changes to relationships and their inverses as well.
  /// - Throws: Any error from reading the row; `foreignObject` if the object is not in this
  ///   context; `unsavedRelationships` if `force` is `false` and unsaved changes to relationships
  ///   would be discarded.
  public func refresh(
    _ object: ManagedObject, mergeChanges: Bool, force: Bool = false
  ) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(holding: object) {
      return try storeContext.refresh(object, mergeChanges: mergeChanges, force: force)
    }
    try requireOwn(object)
    guard !object.isInserted, !object.isFault || object.changes?.isEmpty == false else { return }
    // The object was marked as deleted because its row was missing. Remove this mark, because the
    // row may exist again.
    if object.isInaccessible {
      if mergeChanges, object.changes?.isEmpty == false { return loadAgain(object) }
      deleted.remove(object)
      object.state.subtract([.updated, .deleted])
      return turnIntoFault(object)
    }
    // Discard edits that set a property to its stored value, so that they do not count as changes.
    if mergeChanges { _ = discardNoOpEdits(of: object) }
    let discardsChanges = !mergeChanges || object.changes?.isEmpty != false
    if discardsChanges, !object.isDeleted {
      if force { revertRelationships(of: object) } else { try requireSavedRelationships(object) }
      updated.remove(object)
      object.state.remove(.updated)
      return turnIntoFault(object)
    }
    // Keep a deleted object loaded, because the save compares the object's version with the row's
    // version, and undoing the saved deletion restores the object's values. Keep the changes to its
    // relationships, because other objects must not refer to it.
    if discardsChanges { revertAttributes(of: object) }
    try reload(object, under: object.ownChanges)
  }

  /// Turns all objects that have no unsaved changes into faults.
  ///
  /// All other objects are reread and keep their changes.
  public func refreshAllObjects() {
    confinement?.enter()
    defer { confinement?.leave() }
    for storeContext in otherStoreContexts { storeContext.refreshAllObjects() }
    // Do nothing if the store was removed, because its objects cannot be read again.
    guard !model.isRemoved else { return }
    for object in allRegistered() {
      do { try refresh(object, mergeChanges: true) } catch { rootContext.faultError = error }
    }
    processPendingChanges()
  }

  /// Discards the unsaved changes to an object's attributes.
  private func revertAttributes(of object: ManagedObject) {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    for (slot, value) in changes.originals where !entity.properties[slot].isReference {
      try? object.setStoredValue(value, entity.properties[slot])
      changes.originals[slot] = nil
    }
  }

  /// Reverts the unsaved changes to an object's relationships and their inverses.
  ///
  /// A refresh cannot be undone, so nothing is recorded for undo.
  private func revertRelationships(of object: ManagedObject) {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    let log = undoLog
    undoLog = nil
    defer { undoLog = log }
    var others: [ManagedObject] = []
    for (slot, original) in changes.originals where entity.properties[slot].isReference {
      let target = original.reference.flatMap { self.object($0) }
      guard target?.isDeleted != true else { continue }
      others += [target, toOneTarget(of: object, entity.properties[slot])].compactMap { $0 }
      relate(object, entity.properties[slot], to: target)
    }
    for (slot, edit) in changes.members {
      let property = entity.properties[slot]
      let kept = loadedMembers(of: object, property).filter { !edit.added.contains($0) }
      let members = edit.base ?? kept + edit.removed
      others += edit.added.map { $0 } + edit.removed.map { $0 }
      relate(object, property, to: members.filter { !$0.isDeleted })
    }
    for other in others { _ = discardNoOpEdits(of: other) }
  }

  private func requireSavedRelationships(_ object: ManagedObject) throws {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    let slots = Set(changes.originals.keys).union(changes.members.keys)
    guard let property = entity.relationships.first(where: { slots.contains($0.slot) }) else {
      return
    }
    throw ObjectGraphError(
      .unsavedRelationships,
      "\(entity.name).\(property.name) has unsaved changes, which this refresh would discard. Save "
        + "or revert them first. To discard them, refresh this object and its related objects with "
        + "force: true.",
      objectID: ManagedObjectID(object.number, model.space))
  }

  // MARK: Keeping changes

  /// An unsaved change to a to-one relationship, which is reapplied after the object has been
  /// reread.
  private struct ChangedReference {
    let property: PropertyDescription
    /// The target in this context.
    let target: ToOneTarget
    /// The target that was stored in the row when the object was last read.
    let original: StoredValue?
  }

  /// Rereads an object and reapplies its unsaved changes.
  func reload(_ object: ManagedObject, under changes: ObjectChanges) throws {
    try reload(object, under: changes) { try fillAgain(object, changes) }
  }

  /// Rereads an object and reapplies its unsaved changes.
  ///
  /// - Parameter fill: A closure that sets the object's values and makes them the new base of its
  ///   unsaved changes. The closure returns `false` if the row or the parent's object is missing.
  func reload(
    _ object: ManagedObject, under changes: ObjectChanges, _ fill: () throws -> Bool
  ) throws {
    guard let entity = object.entityDescription else { return }
    var values: [(PropertyDescription, StoredValue)] = []
    // Keep each target as an object rather than as a number, because a save replaces the temporary
    // number of a new object.
    var references: [ChangedReference] = []
    for (slot, original) in changes.originals {
      let property = entity.properties[slot]
      if property.isReference {
        references.append(
          ChangedReference(
            property: property, target: loadedTarget(of: object, property), original: original))
      } else {
        values.append((property, try object.storedValue(property)))
      }
    }
    guard try fill() else {
      if object.isDeleted { object.state.insert(.deletedElsewhere) }
      // Leave a fault unchanged, because there are no values with which to fill it.
      guard !object.isFault else { return }
      // If the row no longer exists, keep only the members that were added in this context.
      if parent == nil {
        try mergeMembers(of: object, under: changes)
        forgetMembers(of: object, entity)
      }
      notifyObservers(of: object, as: \.refreshed)
      return
    }
    try mergeMembers(of: object, under: changes)
    for (property, value) in values { try object.setStoredValue(value, property) }
    for reference in references { object.setTarget(reference.target, reference.property) }
    for reference in references { moveEdit(of: object, reference) }
    _ = discardNoOpEdits(of: object)
    notifyObservers(of: object, as: \.refreshed)
  }

  /// Returns the target object of a to-one relationship, which may be a fault.
  private func loadedTarget(
    of object: ManagedObject, _ property: PropertyDescription
  ) -> ToOneTarget {
    let target = object.target(property)
    guard case .number(let bits) = target else { return target }
    return self.object(ObjectNumber(bits: bits)).map { .object($0) } ?? target
  }

  /// Rereads the values of a changed object from its row, or from the same object in the parent
  /// context.
  ///
  /// These values become the new base of the object's unsaved changes.
  ///
  /// - Returns: `false` if the row or the parent's object is missing.
  private func fillAgain(_ object: ManagedObject, _ changes: ObjectChanges) throws -> Bool {
    guard let entity = object.entityDescription else { return false }
    if let parent {
      guard fill(object, from: parent) else { return false }
      for slot in changes.originals.keys {
        changes.originals[slot] = (try? object.storedValue(entity.properties[slot])) ?? .null
      }
      removeEarlierState(of: object, changes)
      return true
    }
    let storage = model.storage(of: entity)
    let isThere: Void? = try currentView().withRecord(object.number, storage) { view in
      try fillAgain(object, storage, view, changes)
    }
    return isThere != nil
  }

  /// Sets the values of a changed object from a record.
  ///
  /// These values become the new base of the object's unsaved changes.
  func fillAgain(
    _ object: ManagedObject, _ storage: EntityStorage, _ view: RecordView, _ changes: ObjectChanges
  ) throws {
    let theirs = try storage.values(view)
    for slot in changes.originals.keys { changes.originals[slot] = theirs[slot] }
    removeEarlierState(of: object, changes)
    try fill(object, storage, view)
    forgetMembers(of: object, storage.entity)
  }

  /// Merges an object's unsaved edits to relationship members with the members in the store or in
  /// the parent context.
  ///
  /// An addition or removal is discarded if another context has also made it. An ordered list with
  /// unsaved changes is merged with the current list. Unordered one-to-many relationships are
  /// skipped, because the members' references determine the result; see ``moveEdit(of:_:)``.
  private func mergeMembers(of object: ManagedObject, under changes: ObjectChanges) throws {
    guard let entity = object.entityDescription else { return }
    for slot in changes.members.keys {
      let property = entity.properties[slot]
      guard property.isOrdered || entity.inverses[slot]?.property.isReference == false else {
        continue
      }
      try mergeMembers(of: object, property, under: changes)
    }
  }

  /// Merges the unsaved edit to one relationship's members with the members in the store or in the
  /// parent context.
  func mergeMembers(
    of object: ManagedObject, _ property: PropertyDescription, under changes: ObjectChanges
  ) throws {
    guard let before = changes.members[property.slot] else { return }
    let theirs = try storedMembers(of: object, property)
    let edit = before.without(theirs: Set(theirs)) { undoLog?.forget($0, of: object, property) }
    changes.members[property.slot] = edit
    guard property.isOrdered, let base = edit.base, let mine = object.members(property) else {
      return
    }
    let removed = Set(edit.removed.map(\.number))
    let merge = ListMerge(
      base: base.map(\.number), theirs: theirs, mine: mine.map(\.number), prefersMine: true)
    let result = merge.merged(theirs.filter { !removed.contains($0) } + edit.added.map(\.number))
    let members = result.compactMap { self.object($0) }
    let shown = members.filter { !forgets($0, object, property) }
    if shown.count < members.count { hidingMembers.insert(object.number) }
    object.setMembers(shown, property)
    changes.members[property.slot]?.base = theirs.compactMap { self.object($0) }
  }

  /// Returns the members of a relationship in the parent context or, if there is no parent, in the
  /// generation being read.
  func storedMembers(
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

  // MARK: The inverse relationship

  /// Adjusts the unsaved edit to a reference that another context has also changed.
  ///
  /// The adjusted edit removes the object from the owner that the other context assigned, instead
  /// of from the previous owner. Otherwise, the object would appear as a member of both that owner
  /// and the one that this context assigned.
  private func moveEdit(of object: ManagedObject, _ reference: ChangedReference) {
    let property = reference.property
    guard let inverse = object.entityDescription?.inverses[property.slot]?.property,
      let now = object.changes?.originals[property.slot], now != reference.original
    else { return }
    let mine = toOneTarget(of: object, property)
    if case .integer(let bits) = reference.original,
      let former = registeredObject(ObjectNumber(bits: bits)), former !== mine
    {
      cancel(object, former, inverse) { $0.removed.contains(object) ? $0.add(object) : () }
    }
    guard case .integer(let bits) = now, let theirs = self.object(ObjectNumber(bits: bits)) else {
      return
    }
    if theirs === mine {
      // Cancel the edit, because another context has made the same change.
      cancel(object, theirs, inverse) { $0.added.contains(object) ? $0.remove(object) : () }
    } else {
      removeAsEdit(object, from: theirs, inverse)
    }
  }

  /// Discards an edit to a relationship's members after another context has made the same edit.
  private func cancel(
    _ member: ManagedObject, _ owner: ManagedObject, _ property: PropertyDescription,
    _ change: (inout MemberChanges) -> Void
  ) {
    guard !property.isReference, owner.changes?.members[property.slot] != nil else { return }
    undoLog?.forget(member, of: owner, property)
    change(&owner.ownChanges.members[property.slot, default: MemberChanges()])
    discardNoOpMemberEdits(of: owner, property)
  }

  /// Removes an object from a relationship to which another context has added it.
  ///
  /// The removal is necessary because this context has assigned the object to a different owner.
  /// The removal is recorded as an unsaved change to `owner`.
  private func removeAsEdit(
    _ object: ManagedObject, from owner: ManagedObject, _ property: PropertyDescription
  ) {
    if owner.isFault { fire(owner) }
    guard !owner.isFault, !owner.isDeleted, !(owner === object && property.isReference) else {
      return
    }
    if property.isReference {
      discardNoOpEdit(of: owner, property)
      guard owner.changes?.originals[property.slot] == nil else { return }
      recordChange(of: owner) { $0.originals[property.slot] = .integer(object.number.bits) }
      owner.setTarget(.none, property)
    } else {
      guard owner.changes?.members[property.slot]?.removed.contains(object) != true else { return }
      recordChange(of: owner) { changes in
        let base = property.isOrdered ? owner.members(property) : nil
        changes.members[property.slot, default: MemberChanges(base: base)].remove(object)
      }
      owner.removeMember(object, property)
    }
    owner.notifyIfObserved(property)
  }
}
