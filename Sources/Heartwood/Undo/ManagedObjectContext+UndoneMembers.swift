/// Methods that revert changes to one side of a relationship.
///
/// Other contexts may have made the same changes.
extension ManagedObjectContext {
  /// Reverts the addition of a member to one side of a relationship.
  func revertAddition(
    of member: ManagedObject, to object: ManagedObject, _ property: PropertyDescription
  ) {
    let wasAddition = isAddition(member, object, property)
    guard isMember(member, object, property) else {
      // A member that was deleted is hidden, but its addition is still an edit.
      guard isAddition(member, object, property) else { return }
      recordMemberChange(of: object, property) { $0.remove(member) }
      recordRemoval(of: member, object, property, at: nil)
      return discardNoOpMemberEdits(of: object, property)
    }
    // If the members, loaded now or earlier, show that another context has also added the member,
    // hide the member instead of recording a removal as an edit.
    let isShared = wasAddition || isMovedHere(member, object, property)
    if isShared, !isAddition(member, object, property) {
      hide(member, object, property)
    } else {
      drop(member, from: object, property)
    }
  }

  /// Returns whether a member's own reference to `object` is an unsaved change.
  private func isMovedHere(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard let own = object.entityDescription?.inverses[property.slot]?.property, own.isReference,
      let original = member.changes?.originals[own.slot]
    else { return false }
    return original.reference.map(resolved) != object.number
  }

  /// Returns whether to skip a step that added or removed a member, because another context has
  /// made the change that would revert the step.
  ///
  /// The remaining steps for this member are then skipped too, because the other context's change
  /// must not be reverted. If the inverse relationship is a reference, the reference determines
  /// which steps are reverted, unless the member has no row. Steps of a saved group are never
  /// skipped.
  ///
  /// - Parameter isPresent: Whether the member belongs to the relationship after the step has been
  ///   reverted.
  func skips(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription,
    ifPresent isPresent: Bool
  ) -> Bool {
    guard let undoLog, !undoLog.revertsSavedGroup, member.source === self, !object.isInserted
    else { return false }
    if undoLog.skips(member, of: object, property) { return true }
    let edit = object.changes?.members[property.slot]
    guard edit?.added.contains(member) != true, edit?.removed.contains(member) != true,
      isMember(member, object, property) == isPresent
    else { return false }
    if object.entityDescription?.inverses[property.slot]?.property.isReference != false {
      guard !isPresent, !member.isInserted, isMissing(member) else { return false }
    }
    undoLog.skip(member, of: object, property)
    return true
  }

  /// Returns whether a member was added in this context and the addition has not been saved.
  private func isAddition(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    object.changes?.members[property.slot]?.added.contains(member) == true
  }

  /// Removes a member from the loaded members, without recording an edit.
  ///
  /// The member was added by another context, so it may return when the object is next fetched.
  private func hide(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    recordRemoval(of: member, object, property, at: object.removeMember(member, property, at: nil))
    object.changes?.members[property.slot]?.base?.removeAll { $0 === member }
    object.state.insert(.membersMayBeStale)
    discardNoOpMemberEdits(of: object, property)
    object.notifyIfObserved(property)
  }

  /// Records the removal of a member for undo.
  ///
  /// - Parameter index: The member's former index in an ordered relationship, or `nil` otherwise.
  func recordRemoval(
    of member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription,
    at index: Int?
  ) {
    guard let undoLog else { return }
    let position = index.map { index in
      let predecessor = index > 0 ? object.withList(property) { $0[index - 1] } : nil
      return UndoLog.Position(index: index, predecessor: predecessor)
    }
    undoLog.record(.left(object, property, member, position))
  }

  /// Removes a member from an object's side of a relationship, if the member is present.
  ///
  /// A reference that another context has saved is kept if the member's own side has no edit.
  func leave(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    guard object.source === self, isRevertible(object) else { return }
    let own = object.entityDescription?.inverses[property.slot]?.property
    let isEdited =
      member.isInserted || own.map { member.changes?.originals[$0.slot] != nil } ?? false
    if !property.isReference {
      guard isMember(member, object, property) else { return }
      if isEdited || isAddition(member, object, property) {
        drop(member, from: object, property)
      } else {
        hide(member, object, property)
      }
    } else if isEdited || object.changes?.originals[property.slot] != nil,
      toOneTarget(of: object, property) === member
    {
      setToOne(object, property, nil)
      discardNoOpEdit(of: object, property)
    }
  }

  /// Adds a member to an object's side of a relationship, unless the member is already present.
  ///
  /// Another context has already saved the member's reference to the object, so the addition is not
  /// recorded as an edit.
  func joinAsStored(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    if object.isFault { return }
    if property.isReference {
      guard toOneTarget(of: object, property) !== member else { return }
      guard object.changes?.originals[property.slot] == nil else {
        setToOne(object, property, member)
        return discardNoOpEdit(of: object, property)
      }
      object.setTarget(.object(member), property)
    } else {
      if object.changes?.members[property.slot]?.removed.contains(member) == true {
        // Load the members. Loading discards the removal if another context has already removed the
        // same member.
        if !object.hasMembers(property) { _ = loadedMembers(of: object, property) }
        if object.changes?.members[property.slot]?.removed.contains(member) == true {
          return addAgain(member, object, property, storedPosition(of: member, object, property))
        }
      }
      guard object.hasMembers(property), !object.containsMember(member, property) else { return }
      object.insertMember(member, property)
      if object.changes?.members[property.slot]?.base?.contains(member) == false {
        object.changes?.members[property.slot]?.base?.append(member)
      }
    }
    notifyObservers(of: object, as: \.refreshed)
    object.notifyIfObserved(property)
  }

  /// Adds an object to the members of its target, if the members do not contain it although its
  /// reference is edited, or because an edit removes it.
  ///
  /// Usually a step of the same group has added it. However, a merge discards that step if another
  /// context has moved the object too.
  func joinTarget(of object: ManagedObject, _ property: PropertyDescription) {
    guard object.source === self, !object.isDeleted,
      let inverse = object.entityDescription?.inverses[property.slot]?.property,
      !inverse.isReference, let target = toOneTarget(of: object, property),
      !target.isDeleted, isRevertible(target), !isAddition(object, target, inverse)
    else { return }
    if object.isInserted || object.changes?.originals[property.slot] != nil {
      addAgain(object, target, inverse, nil)
    } else if target.changes?.members[inverse.slot]?.removed.contains(object) == true {
      joinAsStored(object, target, inverse)
    }
  }

  /// Removes an object from the context after its deletion was reverted, if it has no edits and a
  /// merge has found that another context has deleted its row.
  func forgetIfDeletedElsewhere(_ object: ManagedObject) {
    guard object.state.contains(.deletedElsewhere), object.source === self, !object.isDeleted
    else { return }
    object.state.remove(.deletedElsewhere)
    guard !object.isFault, !object.isInserted, object.changes?.isEmpty != false,
      let entity = object.entityDescription, isMissing(object)
    else { return }
    for property in entity.relationships {
      guard let inverse = entity.inverses[property.slot]?.property else { continue }
      for other in related(to: object, property) where other !== object {
        if inverse.isReference, other.changes?.originals[inverse.slot] == nil {
          other.setTarget(.none, inverse)
        } else {
          leave(object, other, inverse)
        }
      }
    }
    notifyObservers(of: object, as: \.deleted)
    forgetDeleted(object)
  }

  /// Returns whether a saved object has no row or, in a child context, whether the parent's object
  /// has none.
  ///
  /// Returns `false` if the row cannot be read.
  private func isMissing(_ object: ManagedObject) -> Bool {
    if let parent { return parent.relatableObject(object.number) == nil }
    return (try? findRow(of: object)) == false
  }

  /// Returns the position of a member in the stored list, or `nil` if the list does not contain it.
  private func storedPosition(
    of member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> UndoLog.Position? {
    guard let base = object.changes?.members[property.slot]?.base,
      let index = base.firstIndex(where: { $0 === member })
    else { return nil }
    return UndoLog.Position(index: index, predecessor: index > 0 ? base[index - 1] : nil)
  }
}
