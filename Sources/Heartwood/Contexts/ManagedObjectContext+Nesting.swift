extension ManagedObjectContext {
  /// Creates a child context that uses another context as its store.
  ///
  /// The child context sees the parent's objects in their current state, saved or not. Saving the
  /// child context changes the parent's objects, but writes nothing to the store. To store the
  /// changes, save the parent as well.
  ///
  /// - Precondition: The child context is used by the same thread as its parent.
  public convenience init(parent: ManagedObjectContext) {
    self.init(parent.group.first, of: parent.group, parent: parent)
    confinement?.enter()
    defer { confinement?.leave() }
    parent.children.append(Child(context: self))
  }

  /// A weak reference to a child context.
  struct Child {
    weak var context: ManagedObjectContext?
  }

  /// Copies the values of the parent's object to the corresponding object in this context.
  ///
  /// - Returns: `false` if the parent has no such object, or if that object is deleted or has no
  ///   row.
  func fill(_ object: ManagedObject, from parent: ManagedObjectContext) -> Bool {
    guard let original = parent.existingObject(object.number) else { return false }
    if original.isFault { parent.fire(original) }
    guard !original.isDeleted, !original.isFault else { return false }
    if !pendingValues.isEmpty { markPendingValueStale(of: object) }
    object.version = original.version
    for property in object.entityDescription?.properties ?? [] {
      switch property.kind {
      case .attribute: object.copy(property, from: original)
      case .toOne:
        // The parent hides a target whose deletion has not been saved, so hide the target here too.
        if !parent.deleted.isEmpty, parent.toOneTarget(of: original, property) == nil {
          object.setTarget(.none, property)
          continue
        }
        // Store only the target's number, so that the target object is created only when it is
        // first read.
        if case .object(let target) = original.target(property) {
          // If the number is temporary, store the target object instead of the number, because a
          // save replaces temporary numbers.
          let own = target.number.isTemporary ? self.object(target.number) : nil
          object.setTarget(own.map { .object($0) } ?? .number(target.number.bits), property)
        } else {
          object.copy(property, from: original)
        }
      case .toMany(let isOrdered):
        // Keep an ordered list that was changed in this context, because a save merges the changed
        // list with the parent's list.
        guard !isOrdered || object.changes?.members[property.slot] == nil else { continue }
        object.setMembers(nil, property)
      case .transient: break
      }
    }
    awaken(object)
    return true
  }

  /// Reloads an unchanged object from the parent if it differs from the parent's object.
  ///
  /// Even if nothing differs, the object gets the version of the parent's object.
  ///
  /// - Complexity: O(properties), plus O(members) for each relationship that is loaded in this
  ///   context.
  func fillAgainIfStale(_ object: ManagedObject, from original: ManagedObject) {
    guard let parent, !object.isFault, !object.hasChanges, let entity = object.entityDescription
    else { return }
    if original.isFault { parent.fire(original) }
    guard !original.isFault, !original.isDeleted else { return }
    let isSame = entity.properties.allSatisfy { property in
      switch property.kind {
      case .toOne
      where !parent.deleted.isEmpty && parent.toOneTarget(of: original, property) == nil:
        return toOneTarget(of: object, property) == nil
      case .attribute, .toOne: return hasSame(property, object, original)
      case .toMany(let isOrdered):
        guard object.hasMembers(property) else { return true }
        let mine = object.members(property)?.map(\.number) ?? []
        let theirs = parent.loadedMembers(of: original, property).map(\.number)
        return isOrdered ? mine == theirs : Set(mine) == Set(theirs)
      case .transient: return true
      }
    }
    object.version = original.version
    guard !isSame, fill(object, from: parent) else { return }
    notifyObservers(of: object, as: \.refreshed)
  }

  // MARK: Saving

  /// Loads changed lists, rereads objects that are no longer missing, and discards no-op edits.
  ///
  /// Call this method before pushing the changes. A list that is loaded during the push may already
  /// contain the changes, so they would no longer count as edits and could not be undone. If a
  /// property was set to the value that it already had, pushing that value could overwrite a newer
  /// value in the parent.
  func prepareToPush() {
    loadReturnedObjects()
    for object in inserted.all + updated.all {
      guard let edits = object.changes?.members, let entity = object.entityDescription else {
        continue
      }
      for property in edits.keys.map({ entity.properties[$0] })
      where property.isOrdered && !object.hasMembers(property) {
        _ = loadedMembers(of: object, property)
      }
    }
    for object in updated.all { _ = discardNoOpEdits(of: object) }
  }

  /// Applies this context's changes to the parent's objects.
  ///
  /// - Precondition: ``prepareToPush()`` has been called.
  func pushToParent() {
    guard let parent else { return }
    let changed = inserted.all + updated.all
    let before = changed.map { lists(ofOriginalOf: $0, in: parent) }
    let states = changed.map { parent.editState(ofOriginalOf: $0) }
    let statesOfDeleted = deleted.all.map { parent.editState(ofOriginalOf: $0) }
    for object in inserted.all { adopt(object, into: parent) }
    // Push all references before any members, because the references determine which object owns a
    // member that the parent has moved in the meantime.
    var refusesTarget = false
    for object in changed { push(object, to: parent, &refusesTarget) }
    for (object, lists) in zip(changed, before) {
      pushMembers(of: object, to: parent, lists, &refusesTarget)
    }
    for (object, state) in zip(changed, states) { recordBase(of: object, in: parent, since: state) }
    // Push all deleted objects' references first, because deleting one object may delete others.
    for object in deleted.all { pushOneWayReferences(of: object, to: parent) }
    let originals = deleted.all.map { object in
      // Skip an object that is treated as deleted only because its row was missing.
      object.isInaccessible ? nil : parent.existingObject(object.number)
    }
    for (object, (original, state)) in zip(deleted.all, zip(originals, statesOfDeleted)) {
      if let original, original.source === parent {
        parent.delete(original)
        recordBase(ofDeleted: object, in: original, since: state)
      }
      object.state.remove(.registered)
      object.hooks = []
      object.releaseRelated()
      leave(object)
    }
    for object in changed {
      object.state.subtract([.inserted, .updated])
      // Let the next read load all values of an object that was edited while its row was missing,
      // or that does not exist in the parent, so that its edits could not be pushed (N-04).
      guard !object.isFault, parent.relatableObject(object.number) != nil else {
        turnIntoFault(object)
        continue
      }
      object.changes = nil
      object.setHooks(.writing)
    }
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    // Reload the objects that may refer to objects that the parent has deleted.
    if refusesTarget || !parent.deleted.isEmpty {
      for object in changed + hidingMembers.compactMap(registeredObject) {
        guard let original = parent.relatableObject(object.number) else { continue }
        fillAgainIfStale(object, from: original)
      }
    }
    notifyFollowersOfAllObjects()
  }

  /// Creates an object in the parent that corresponds to a new object in this context.
  ///
  /// Both objects have the same number.
  private func adopt(_ object: ManagedObject, into parent: ManagedObjectContext) {
    let original = type(of: object).init()
    // Do not call `awakeFromInsert` again, because it was already called in this context.
    original.state.insert(.hasAwoken)
    parent.insert(original)
    // Remove the fault that a lookup of the ID in the parent may have created, to free the number.
    parent.dismissFault(object.number)
    _ = parent.exchange(original.number, for: object.number)
  }

  /// For each ordered relationship that was changed in this context, returns its members in the
  /// parent context, keyed by slot.
  ///
  /// Call this method before pushing any changes, because pushing a reference also changes the list
  /// on the other side of the relationship.
  private func lists(
    ofOriginalOf object: ManagedObject, in parent: ManagedObjectContext
  ) -> [Int: [ObjectNumber]] {
    guard let edits = object.changes?.members, !edits.isEmpty, !object.isInserted,
      let entity = object.entityDescription,
      let original = parent.relatableObject(object.number)
    else { return [:] }
    let slots = edits.keys.filter { entity.properties[$0].isOrdered }
    return Dictionary(
      uniqueKeysWithValues: slots.map { slot in
        (slot, parent.loadedMembers(of: original, entity.properties[slot]).map(\.number))
      })
  }

  /// Copies an object's changed attributes and references to the parent's object.
  ///
  /// - Parameter refusesTarget: A variable that is set to `true` if the object refers to an object
  ///   that does not exist in the parent.
  private func push(
    _ object: ManagedObject, to parent: ManagedObjectContext, _ refusesTarget: inout Bool
  ) {
    guard let original = parent.relatableObject(object.number) else { return }
    if original.isFault { parent.fire(original) }
    let isNew = object.isInserted
    for property in object.entityDescription?.properties ?? []
    where isNew || object.changes?.originals[property.slot] != nil {
      switch property.kind {
      case .attribute:
        // Setting a property to its current value must not count as a change in the parent.
        guard isNew || !hasSame(property, object, original) else { continue }
        parent.willChange(original, property)
        original.copy(property, from: object)
      case .toOne:
        let mine = toOneTarget(of: object, property)
        let target = mine.flatMap { parent.relatableObject($0.number) }
        if mine != nil, target == nil { refusesTarget = true }
        parent.relate(original, property, to: target)
      case .toMany, .transient: continue
      }
    }
    if isNew, original.keptValues != nil { original.setHooks(.writing) }
  }

  /// Merges an object's changes to relationship members into the parent's object.
  ///
  /// - Parameters:
  ///   - lists: The members that the changed ordered relationships had in the parent before the
  ///     push, keyed by slot.
  ///   - refusesMember: A variable that is set to `true` if an added member does not exist in the
  ///     parent.
  private func pushMembers(
    of object: ManagedObject, to parent: ManagedObjectContext, _ lists: [Int: [ObjectNumber]],
    _ refusesMember: inout Bool
  ) {
    guard let entity = object.entityDescription,
      let original = parent.relatableObject(object.number)
    else { return }
    for property in entity.relationships {
      guard let edit = object.changes?.members[property.slot] else { continue }
      if edit.added.contains(where: { parent.relatableObject($0.number) == nil }) {
        refusesMember = true
      }
      let inverse = entity.inverses[property.slot]?.property
      if let inverse, inverse.isReference {
        pushReferences(of: edit, to: object, inverse, original, parent)
        guard property.isOrdered else { continue }
      }
      var members = parent.loadedMembers(of: original, property).map(\.number)
      let theirs = property.isOrdered ? lists[property.slot] ?? [] : members
      if inverse?.isReference != true {
        let removed = Set(edit.removed.map(\.number))
        members = members.filter { !removed.contains($0) } + edit.added.map(\.number)
      }
      let mine = property.isOrdered ? loadedMembers(of: object, property).map(\.number) : nil
      let merge = ListMerge(
        base: edit.base?.map(\.number), theirs: theirs, mine: mine, prefersMine: true)
      parent.relate(
        original, property,
        to: merge.merged(members).compactMap { parent.relatableObject($0) })
    }
    // Copy the set of assigned properties. The push has set all properties of the new object, but
    // only properties that were set in this context count as assigned.
    if object.isInserted, original.isInserted, entity.hasUniqueConstraints {
      original.ownChanges.assigned = object.changes?.assigned ?? SlotSet()
    }
  }

  /// Copies a deleted object's changed one-way references (those without an inverse) to the
  /// corresponding object in the parent.
  ///
  /// The copies ensure that deleting the parent's object applies delete rules to the targets set in
  /// this context. A reference that the parent has also changed keeps the parent's target.
  private func pushOneWayReferences(of object: ManagedObject, to parent: ManagedObjectContext) {
    guard !object.isInaccessible, let entity = object.entityDescription,
      let originals = object.changes?.originals, !originals.isEmpty,
      let original = parent.relatableObject(object.number)
    else { return }
    for property in entity.relationships
    where property.isReference && entity.inverses[property.slot] == nil {
      guard let before = originals[property.slot],
        parent.toOneTarget(of: original, property)?.number == before.reference.map(resolved)
      else { continue }
      let target = toOneTarget(of: object, property)
      parent.relate(
        original, property, to: target.flatMap { parent.relatableObject($0.number) })
    }
  }

  /// Updates the references of added and removed members in the parent, unless they have already
  /// been pushed.
  ///
  /// A reference may have changed in the parent since this context read it. If this context sets
  /// the reference back to the value that it has read, the member itself has no edit, and only
  /// `edit` records the change.
  ///
  /// - Parameters:
  ///   - edit: The changes to the members of `object`.
  ///   - reference: The members' reference to `object`.
  ///   - original: The parent's object that corresponds to `object`.
  private func pushReferences(
    of edit: MemberChanges, to object: ManagedObject, _ reference: PropertyDescription,
    _ original: ManagedObject, _ parent: ManagedObjectContext
  ) {
    func isMember(_ member: ManagedObject) -> Bool {
      toOneTarget(of: member, reference) === object
    }
    for member in edit.added where isMember(member) {
      guard let theirs = parent.relatableObject(member.number) else { continue }
      parent.relate(theirs, reference, to: original)
    }
    for member in edit.removed where !isMember(member) {
      guard let theirs = parent.relatableObject(member.number),
        parent.toOneTarget(of: theirs, reference) === original
      else { continue }
      parent.relate(theirs, reference, to: nil)
    }
  }

  private func hasSame(
    _ property: PropertyDescription, _ object: ManagedObject, _ original: ManagedObject
  ) -> Bool {
    guard let mine = try? object.storedValue(property),
      let theirs = try? original.storedValue(property)
    else { return false }
    return mine.isIdentical(to: theirs)
  }

  // MARK: IDs

  /// Replaces the temporary IDs of new objects with permanent IDs before the objects are saved.
  ///
  /// - Throws: Any error from writing the store.
  /// - Complexity: Runs one transaction for each store to which the objects belong.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    for storeContext in otherStoreContexts { try storeContext.obtainPermanentIDs(for: objects) }
    // Assign IDs in insertion order, as a save does.
    let new = objects.filter { $0.source === self && $0.isInserted && $0.number.isTemporary }
      .sorted { $0.number < $1.number }
    guard !new.isEmpty else { return }
    var numbers: [ObjectNumber] = []
    _ = try write { transaction in
      let rows = RowWriter(transaction, model, origin)
      numbers = try new.map { try rows.nextNumber(model.storage(of: entity(of: $0))) }
      try rows.finish()
    }
    for (object, number) in zip(new, numbers) {
      dismissFault(number)
      Self.dismiss(renumber(object, number))
    }
  }
}
