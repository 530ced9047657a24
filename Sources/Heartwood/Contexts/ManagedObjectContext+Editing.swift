extension ManagedObjectContext {
  /// Deletes an object and immediately applies the delete rules of its relationships.
  ///
  /// An object that was never saved is removed from the context, and related objects lose their
  /// references to it. Deleting such an object again has no effect.
  ///
  /// - Precondition: The object belongs to this context, or was never saved and has left its
  ///   context.
  /// - Complexity: O(related objects). The method loads all related objects. Cascades use heap
  ///   memory instead of stack space, so a long cascade does not overflow the stack.
  public func delete(_ object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(holding: object) { return storeContext.delete(object) }
    if object.source == nil, object.changes?.wasNew == true { return }
    // Use `fatalError`, because `precondition` would drop the message in a release build.
    guard object.source === self else {
      fatalError(
        "This \(type(of: object)) is not in this context and cannot be deleted here. If the object "
          + "has been saved, look it up in this context by its objectID. Otherwise, delete it in "
          + "the context into which it was inserted.")
    }
    // Use a work list instead of recursion, because a cascade can be arbitrarily deep.
    var work: [Deletion] = []
    begin(deletionOf: object, &work)
    while !work.isEmpty { advance(&work) }
  }

  /// Deletes an object again after its deletion was reverted.
  ///
  /// `prepareForDeletion` is not called again for this object.
  func deleteAgain(_ object: ManagedObject) {
    var work: [Deletion] = []
    begin(deletionOf: object, &work, isAgain: true)
    while !work.isEmpty { advance(&work) }
  }

  /// The progress of an object's deletion.
  private struct Deletion {
    let object: ManagedObject
    /// The relationships that remain to be processed, in reverse order.
    var relationships: [PropertyDescription]
    /// The relationship whose cascade is in progress, or `nil` if there is none.
    var cascade: PropertyDescription?
    /// The objects that the cascade still has to delete, in reverse order.
    var others: [ManagedObject] = []
  }

  private func begin(
    deletionOf object: ManagedObject, _ work: inout [Deletion], isAgain: Bool = false
  ) {
    guard object.source === self, !object.isDeleted,
      isDeleting.insert(ObjectIdentifier(object)).inserted
    else { return }
    if object.isFault { fire(object) }
    if !object.isDeleted, !isAgain { object.prepareForDeletion() }
    guard !object.isDeleted, object.source === self else {
      isDeleting.remove(ObjectIdentifier(object))
      return
    }
    work.append(
      Deletion(
        object: object, relationships: object.entityDescription?.relationships.reversed() ?? []))
  }

  /// Performs the next step of the last deletion in the work list.
  private func advance(_ work: inout [Deletion]) {
    let top = work.count - 1
    let object = work[top].object
    if let other = work[top].others.popLast() { return begin(deletionOf: other, &work) }
    if let property = work[top].cascade {
      work[top].cascade = nil
      unrelate(object, property)
      clearing.remove(ClearedRelationship(object, property))
      return
    }
    guard let property = work[top].relationships.popLast() else {
      work.removeLast()
      isDeleting.remove(ObjectIdentifier(object))
      return finish(deletionOf: object)
    }
    switch property.options.deleteRule ?? .nullify {
    case .cascade:
      work[top].cascade = property
      work[top].others = related(to: object, property).reversed()
      if case .toMany = property.kind {
        clearing.insert(ClearedRelationship(object, property))
      }
    case .noAction, .deny:
      // Remove references to an object that was never saved, even if the rule is `noAction` or
      // `deny`, because the object will never have a row. References to a saved object stay in
      // place.
      if object.isInserted { unrelate(object, property) }
    case .nullify: unrelate(object, property)
    }
  }

  private func finish(deletionOf object: ManagedObject) {
    guard object.source === self, !object.isDeleted else { return }
    guard object.isInserted else { return markDeleted(object) }
    undoLog?.record(.deletion(object))
    inserted.remove(object)
    notifyObservers(of: object, as: \.deleted)
    abandon(object)
  }

  func markDeleted(_ object: ManagedObject) {
    undoLog?.record(.deletion(object))
    updated.remove(object)
    object.state.insert(.deleted)
    deleted.insert(object)
    notifyObservers(of: object, as: \.deleted)
    hideFromNewerRelationships(object)
  }

  /// Reverts the deletion of an object.
  func revive(_ object: ManagedObject) {
    undoLog?.record(.insertion(object))
    unmarkDeleted(object)
    notifyObservers(of: object, as: \.inserted)
  }

  /// Unmarks a deleted object, so that its unsaved changes take effect again.
  func unmarkDeleted(_ object: ManagedObject) {
    deleted.remove(object)
    object.state.remove(.deleted)
    if object.state.contains(.withoutValues) { makeFaultAgain(object) }
    // Do not mark the object as updated if its changes were reverted after it was deleted.
    guard let changes = object.changes, !changes.isEmpty else {
      object.changes?.earlierState = nil
      object.state.remove(.updated)
      return
    }
    object.state.insert(.updated)
    updated.insert(object)
  }

  /// Returns whether the next change to a property would be its first since the object was read or
  /// inserted.
  func isFirstChange(of object: ManagedObject, _ property: PropertyDescription) -> Bool {
    object.isInserted
      ? !object.assigned.contains(property.slot)
      : object.changes?.originals[property.slot] == nil
  }

  /// Records a change to an object, unless the object is new.
  ///
  /// - Parameter change: A closure that adds the change to the object's recorded changes.
  func recordChange(of object: ManagedObject, _ change: (ObjectChanges) -> Void) {
    guard !object.isInserted else { return }
    let changes = object.ownChanges
    changes.count += 1
    change(changes)
    // Do not mark a deleted object as updated. The change takes effect if the deletion is reverted.
    guard !object.isDeleted else { return }
    object.state.insert(.updated)
    updated.insert(object)
    notifyObservers(of: object, as: \.updated)
  }

  /// Marks an object as unchanged if it has no changes left.
  func unmarkIfUnchanged(_ object: ManagedObject) {
    guard object.changes?.isEmpty != false, object.isUpdated else { return }
    object.changes?.earlierState = nil
    object.state.remove(.updated)
    updated.remove(object)
    if isFollowed { notifyFollowers(of: object, isRefreshed: false) }
    observer?.recordChange(of: object)
  }

  /// Discards the recorded change to each property whose value is the same as when the object was
  /// read.
  ///
  /// If no changes remain, the object is treated as unchanged: fetches return it with its stored
  /// values, and saves skip it (C-05).
  ///
  /// - Returns: `true` if the object was marked as updated and no changes remain.
  /// - Complexity: O(properties that were set).
  func discardNoOpEdits(of object: ManagedObject) -> Bool {
    guard object.isUpdated, let entity = object.entityDescription else { return false }
    let set = (object.changes?.originals.map(\.key) ?? []).map { entity.properties[$0] }
    let related = (object.changes?.members.map(\.key) ?? []).map { entity.properties[$0] }
    for property in set { discardNoOpEdit(of: object, property) }
    for property in related { discardNoOpMemberEdits(of: object, property) }
    unmarkIfUnchanged(object)
    return !object.hasChanges
  }

  /// Returns the objects at the other end of an object's relationship.
  func related(to object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject] {
    if case .toOne = property.kind { return toOneTarget(of: object, property).map { [$0] } ?? [] }
    return loadedMembers(of: object, property)
  }

  /// Reverts all unsaved changes.
  ///
  /// Changed objects return to the values that they had when they were read. The context does not
  /// read the store again.
  public func rollback() {
    confinement?.enter()
    defer { confinement?.leave() }
    forgetUndo()
    for object in inserted.all {
      notifyObservers(of: object, as: \.deleted)
      abandon(object)
    }
    inserted.removeAll()
    let changed = updated.all + deleted.all
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    clearing = []
    for object in changed {
      object.state.subtract([.updated, .deleted])
      revertChanges(of: object)
      if object.state.contains(.withoutValues) { makeFaultAgain(object) }
      notifyObservers(of: object, as: \.refreshed)
    }
    isDeleting = []
    showHiddenMembers()
    for storeContext in otherStoreContexts { storeContext.rollback() }
    processPendingChanges()
  }

  /// Restores the values and relationship members that an object had when it was read.
  func revertChanges(of object: ManagedObject) {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    for (slot, value) in changes.originals {
      try? object.setStoredValue(value, entity.properties[slot])
    }
    // Discard the members instead of restoring them, because they are loaded again when needed.
    for slot in changes.members.keys { object.setMembers(nil, entity.properties[slot]) }
    object.changes = nil
  }
}
