extension ManagedObjectContext {
  /// Calls `begin`, and reverts the steps that it returns.
  func revertGroup(_ begin: (UndoLog) -> [UndoLog.Step]) {
    confinement?.enter()
    defer { confinement?.leave() }
    guard let undoLog else { return }
    let steps = begin(undoLog)
    let earlierStates = steps.map { $0.object.changes?.earlierState }
    for step in steps { storeContext(describing: step.object)?.revert(step) }
    for step in undoLog.postponedSteps() {
      storeContext(describing: step.object)?.revertPostponed(step)
    }
    for case .target(let object, let property, _, _) in steps {
      storeContext(describing: object)?.joinTarget(of: object, property)
    }
    for object in undoLog.objectsDeletedAgain() {
      storeContext(describing: object)?.completeDeletion(of: object)
    }
    for case .deletion(let object) in steps {
      storeContext(describing: object)?.forgetIfDeletedElsewhere(object)
    }
    restoreEarlierStates(after: steps, earlierStates)
    undoLog.end()
    for storeContext in rootContext.storeContexts { storeContext.showHiddenMembers() }
    processPendingChanges()
  }

  private func revert(_ step: UndoLog.Step) {
    let object = step.object
    switch step {
    case .insertion:
      if object.source !== self { undoLog?.ignoreEarlierDeletion(of: object) }
      guard object.source === self, !object.isDeleted else { return }
      if object.isInserted { return withdraw(object) }
      // Before a save, undo reaches this point only if `insert` has reverted a deletion. The delete
      // rules were applied by that deletion, so do not apply them again.
      if undoLog?.isUndoing == false || undoLog?.revertsSavedGroup == true {
        undoLog?.deletesAgain(object)
      }
      return markDeleted(object)
    case .deletion:
      if undoLog?.ignoresDeletion(of: object) == true { return }
      if object.source === self {
        if deleted.contains(object), !object.isInaccessible { revive(object) }
      } else if object.source == nil, !object.hasRow {
        if object.isDeleted { insertAgain(object) } else { restore(object) }
      }
      for step in undoLog?.stepsWaiting(for: object) ?? [] { revert(step) }
      return
    case .base: return
    case .value, .target, .joined, .left, .cleared, .order, .original: break
    }
    // If the object has left the context, postpone the step, because a later step may insert the
    // object again.
    guard object.source === self else { undoLog?.wait(for: object, step); return }
    guard isRevertible(object) || restoresEdit(step) else { return }
    switch step {
    case .value(_, let property, let value, let isFirst):
      revertValue(of: object, property, value, isFirst)
    case .target(_, let property, let target, let isFirst):
      if !isFirst || object.isInserted, let target, target.source !== self {
        undoLog?.wait(for: target, step)
      }
      revertTarget(of: object, property, target, isFirst)
    case .joined(_, let property, let member):
      if skips(member, object, property, ifPresent: false) { return }
      revertAddition(of: member, to: object, property)
    case .left(_, let property, let member, let position):
      if skips(member, object, property, ifPresent: true) { return }
      guard member.source === self else { undoLog?.wait(for: member, step); return }
      guard leads(member, to: object, property) else {
        undoLog?.postpone(step)
        return
      }
      addAgain(member, object, property, position)
    case .cleared(_, let property, let members): fill(object, property, members)
    case .order(_, let property, let members): revertOrder(of: object, property, members)
    case .original(_, let property): restoreOriginalOrder(object, property)
    case .insertion, .deletion, .base: break
    }
  }

  /// Loads an object if necessary, and returns whether its properties can be reverted.
  ///
  /// The properties cannot be reverted if the object has neither a row nor edits.
  func isRevertible(_ object: ManagedObject) -> Bool {
    if object.isFault { fire(object) }
    return !object.isFault && !object.isInaccessible || object.changes?.isEmpty == false
  }

  /// Returns whether a step redoes an edit to a fault whose row is not in the pinned generation.
  ///
  /// The result is `false` if the edit also changes a relationship that has the fault as a member,
  /// because a redo omits such a fault from both sides of the relationship.
  private func restoresEdit(_ step: UndoLog.Step) -> Bool {
    guard undoLog?.isUndoing == false, step.object.isFault else { return false }
    switch step {
    case .value: return true
    case .left(let object, let property, _, _):
      return object.entityDescription?.inverses[property.slot]?.property.isReference == true
    default: return false
    }
  }

  /// Reverts a postponed step after all other steps have been reverted.
  ///
  /// The step removed a member from an object's relationship. If the member refers to the object
  /// again, the member is added back. Otherwise, another context has moved the member, and the
  /// removal is discarded.
  private func revertPostponed(_ step: UndoLog.Step) {
    guard case .left(let object, let property, let member, let position) = step,
      object.source === self, !object.isFault,
      let inverse = object.entityDescription?.inverses[property.slot]?.property
    else { return }
    if toOneTarget(of: member, inverse) === object {
      addAgain(member, object, property, position)
    } else {
      forgetLeaving(member, object, property)
    }
  }

  /// Completes the deletion of a saved object after a group has been reverted.
  ///
  /// The deletion is repeated, so that the delete rules also apply to references that other
  /// contexts have added to the object.
  private func completeDeletion(of object: ManagedObject) {
    guard deleted.contains(object), !object.isInaccessible else { return }
    deleted.remove(object)
    object.state.remove(.deleted)
    deleteAgain(object)
  }

  private func revertValue(
    of object: ManagedObject, _ property: PropertyDescription, _ value: StoredValue, _ isFirst: Bool
  ) {
    let original = object.changes?.originals[property.slot]
    willChange(object, property)
    // If `isFirst` is `true` but no original is recorded, the change was discarded and the object
    // was reread, so it already has the value from its row.
    if let value = isFirst && !object.isInserted ? original : value {
      try? object.setStoredValue(value, property)
    }
    if isFirst { object.changes?.assigned.remove(property.slot) }
    discardNoOpEdit(of: object, property)
    object.notifyIfObserved(property)
  }

  private func revertTarget(
    of object: ManagedObject, _ property: PropertyDescription, _ target: ManagedObject?,
    _ isFirst: Bool
  ) {
    let known = target
    var target = target
    let isFirstAssignment = isFirst && object.isInserted
    let isFirst = isFirst && !object.isInserted
    if isFirst {
      switch object.changes?.originals[property.slot] {
      case .integer(let bits): target = self.object(ObjectNumber(bits: bits))
      case .some: target = nil
      // If no original is recorded, the change was discarded and the object was reread, so keep the
      // current target, which comes from the row.
      case .none: target = toOneTarget(of: object, property)
      }
    }
    // Clear a target that has left the context, because a reference must stay within the context.
    if target?.source !== self { target = nil }
    let before = toOneTarget(of: object, property)
    setToOne(object, property, target)
    if isFirstAssignment { object.changes?.assigned.remove(property.slot) }
    discardNoOpEdit(of: object, property)
    guard let inverse = object.entityDescription?.inverses[property.slot]?.property else { return }
    // Remove the object from its current owner here, because no recorded step does so if another
    // context has moved the object to that owner.
    if let before, before !== target { leave(object, before, inverse) }
    guard isFirst, known !== target else { return }
    if let known, known !== target { leave(object, known, inverse) }
    if let target { joinAsStored(object, target, inverse) }
  }

  /// Returns whether a member may be added back to a relationship of `object`.
  ///
  /// The result is `false` only if the member's own to-one reference does not refer to `object`.
  /// The reference is checked only during an undo, and only if the member has been saved and its
  /// reference has no unsaved change.
  private func leads(
    _ member: ManagedObject, to object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard undoLog?.isUndoing == true,
      let inverse = object.entityDescription?.inverses[property.slot]?.property,
      inverse.isReference, !member.isInserted, member.changes?.originals[inverse.slot] == nil
    else { return true }
    // If a later step sets the reference, do not postpone the addition, because the recorded
    // positions apply only if all members are added in order.
    return toOneTarget(of: member, inverse) === object
      || undoLog?.sets(inverse, of: member, to: object) == true
  }

  /// Discards the removal of a member that another context has since moved.
  private func forgetLeaving(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    guard object.changes?.members[property.slot]?.removed.contains(member) == true else { return }
    recordMemberChange(of: object, property) { $0.add(member) }
    object.changes?.members[property.slot]?.base?.removeAll { $0 === member }
    discardNoOpMemberEdits(of: object, property)
  }

  /// Returns whether an object is a member of a relationship, loading the members if necessary.
  func isMember(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    if !object.hasMembers(property) { _ = loadedMembers(of: object, property) }
    return object.containsMember(member, property)
  }

  func addAgain(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription,
    _ position: UndoLog.Position?
  ) {
    let wasRemoved = object.changes?.members[property.slot]?.removed.contains(member) == true
    guard member.source === self, !isMember(member, object, property),
      canAddAgain(member, object, property, wasRemoved: wasRemoved)
    else { return }
    let index = position.map { self.index(behind: $0, object, property) }
    add(member, to: object, property, at: index)
  }

  /// Returns whether a member may be added back to a relationship that does not contain it.
  ///
  /// - Parameter wasRemoved: Whether this context had removed the member before the members were
  ///   loaded.
  private func canAddAgain(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription,
    wasRemoved: Bool
  ) -> Bool {
    let isRemoved = object.changes?.members[property.slot]?.removed.contains(member) == true
    // Leave the member removed if loading shows that another context has also removed it.
    if wasRemoved, !isRemoved { return false }
    if object.entityDescription?.inverses[property.slot] != nil {
      // Skip the member if its own side of the relationship cannot be reverted.
      guard isRevertible(member) else { return false }
      // Allow a member that is still a fault, because this context has edited it although the
      // pinned generation does not contain its row.
      if member.isFault { return true }
    }
    // Do not add a member that another context has deleted to saved members. Cancelling a removal,
    // or restoring an addition that has not been saved, is allowed.
    return wasRemoved || member.isInserted || parent != nil
      || undoLog?.revertsSavedGroup == false || rowExists(of: member)
  }

  /// Returns the index at which to reinsert a member.
  ///
  /// The member is reinserted after its former predecessor rather than at its former index, because
  /// other members may have been added since the removal.
  private func index(
    behind position: UndoLog.Position, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Int {
    guard let predecessor = position.predecessor else { return position.index }
    return object.withList(property) { list -> Int in
      let isThere = position.index <= list.count && list[position.index - 1] === predecessor
      guard !isThere, let found = list.firstIndex(where: { $0 === predecessor }) else {
        return position.index
      }
      return found + 1
    }
  }

  /// Restores a relationship's members after all of them were removed at once.
  private func fill(
    _ object: ManagedObject, _ property: PropertyDescription, _ members: [ManagedObject]
  ) {
    let removed = object.changes?.members[property.slot]?.removed ?? MemberSet()
    let isEmpty = loadedMembers(of: object, property).isEmpty
    var again: [ManagedObject] = []
    for member in members
    where isEmpty || removed.contains(member)
      || !skips(member, object, property, ifPresent: true)
    {
      if member.source === self {
        if !isEmpty {
          addAgain(member, object, property, nil)
        } else if canAddAgain(member, object, property, wasRemoved: removed.contains(member)) {
          again.append(member)
        }
      } else if isEmpty, undoLog?.restores(member) == true {
        again.append(member)
      } else {
        undoLog?.wait(for: member, .left(object, property, member, nil))
      }
    }
    guard !again.isEmpty else { return }
    recordMemberChange(of: object, property) { change in
      for member in again { change.add(member) }
    }
    for member in again { undoLog?.record(.joined(object, property, member)) }
    object.setMembers(again, property)
    discardNoOpMemberEdits(of: object, property)
    object.notifyIfObserved(property)
  }

  /// Restores an earlier order of the members.
  ///
  /// Members that a merge has since added stay after their current predecessors.
  private func revertOrder(
    of object: ManagedObject, _ property: PropertyDescription, _ members: [ManagedObject]
  ) {
    let present = loadedMembers(of: object, property)
    let numbers = present.map(\.number)
    let order = ListMerge(
      base: nil, theirs: numbers, mine: members.map(\.number), prefersMine: true)
    reorder(object, property, order.merged(numbers).compactMap { self.object($0) })
  }

  /// Restores the stored order, which may have changed since the first edit.
  private func restoreOriginalOrder(_ object: ManagedObject, _ property: PropertyDescription) {
    guard let changes = object.changes?.members[property.slot], changes.hasSameMembers,
      let base = changes.base
    else { return }
    reorder(object, property, base)
  }

  /// Discards the unsaved change to a property whose value equals the value in the row.
  func discardNoOpEdit(of object: ManagedObject, _ property: PropertyDescription) {
    guard let changes = object.changes, !object.isInserted,
      let original = changes.originals[property.slot],
      (try? object.storedValue(property))?.isIdentical(to: current(original, property)) == true
    else { return }
    changes.originals[property.slot] = nil
    // If the object is deleted, keep all earlier values, because the deletion is based on them.
    if !object.isDeleted { changes.earlierState?.values[property.slot] = nil }
    unmarkIfUnchanged(object)
  }

  /// Returns a property's original value, updating the object number if the value is a reference.
  ///
  /// The number may be outdated, because saving a new object in a parent context renumbers the
  /// object.
  private func current(_ original: StoredValue, _ property: PropertyDescription) -> StoredValue {
    guard property.isReference, let number = original.reference else { return original }
    return .integer(resolved(number).bits)
  }

  /// Reverts the insertion of an object.
  private func withdraw(_ object: ManagedObject) {
    undoLog?.record(.deletion(object))
    inserted.remove(object)
    notifyObservers(of: object, as: \.deleted)
    abandon(object)
  }

  /// Reverts the deletion of an object that was never saved.
  private func restore(_ object: ManagedObject) {
    undoLog?.record(.insertion(object))
    let assigned = object.changes?.assigned ?? SlotSet()
    object.changes = nil
    if !assigned.isEmpty { object.ownChanges.assigned = assigned }
    object.state.insert(.inserted)
    object.setHooks(.writing)
    // Dismiss any fault that has since been created for the object's ID, because an ID must
    // identify only one object.
    dismissFault(object.number)
    register(object, object.number)
    inserted.insert(object)
    notifyObservers(of: object, as: \.inserted)
  }
}
