extension ManagedObjectContext {
  /// Deletes an object; what its relationships say becomes of others happens at once.
  ///
  /// One that was never saved just leaves the context, and the others forget it.
  ///
  /// - Precondition: It belongs to this context.
  /// - Complexity: O(related objects), each of which is loaded. Cascades take memory, and no stack.
  public func delete(_ object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(holding: object) { return part.delete(object) }
    // Not a precondition: those do not say in release builds what is wrong.
    guard object.source === self else {
      fatalError(
        "A \(type(of: object)) of another context, or of none, cannot be deleted: take this "
          + "context's object with its objectID.")
    }
    // A list, and no recursion: a cascade can be as long as there are objects.
    var work: [Deletion] = []
    begin(deletionOf: object, &work)
    while !work.isEmpty { advance(&work) }
  }

  /// An object that is being deleted.
  private struct Deletion {
    let object: ManagedObject
    /// What is left to do of its relationships, the last one first.
    var relationships: [PropertyDescription]
    /// The relationship that is cascading.
    var cascade: PropertyDescription?
    /// The objects that are left of that, the last one first.
    var others: [ManagedObject] = []
  }

  private func begin(deletionOf object: ManagedObject, _ work: inout [Deletion]) {
    guard object.source === self, !object.isDeleted,
      isDeleting.insert(ObjectIdentifier(object)).inserted
    else { return }
    if object.isFault { fire(object) }
    if !object.isDeleted { object.prepareForDeletion() }
    guard !object.isDeleted, object.source === self else {
      isDeleting.remove(ObjectIdentifier(object))
      return
    }
    work.append(
      Deletion(
        object: object, relationships: object.entityDescription?.relationships.reversed() ?? []))
  }

  /// Does the next step of a deletion: that of the object at the end of the list.
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
      // No row will be there to be referred to.
      if object.isInserted { unrelate(object, property) }
    case .nullify: unrelate(object, property)
    }
  }

  private func finish(deletionOf object: ManagedObject) {
    guard object.source === self, !object.isDeleted else { return }
    guard object.isInserted else { return markDeleted(object) }
    undoLog?.record(.deletion(object))
    inserted.remove(object)
    tell(\.deleted, object)
    abandon(object)
  }

  func markDeleted(_ object: ManagedObject) {
    undoLog?.record(.deletion(object))
    updated.remove(object)
    object.state.insert(.deleted)
    deleted.insert(object)
    tell(\.deleted, object)
  }

  /// Takes back that an object was deleted.
  func revive(_ object: ManagedObject) {
    undoLog?.record(.insertion(object))
    deleted.remove(object)
    object.state.remove(.deleted)
    tell(\.inserted, object)
    // What it had been changed to may have been taken back while it was deleted.
    guard let changes = object.changes, !changes.isEmpty else {
      object.state.remove(.updated)
      return
    }
    object.state.insert(.updated)
    updated.insert(object)
  }

  /// Whether a property of an object is as it was read.
  func isFirstChange(of object: ManagedObject, _ property: PropertyDescription) -> Bool {
    !object.isInserted && object.changes?.originals[property.slot] == nil
  }

  /// Marks an object as changed.
  func noteChange(of object: ManagedObject, _ change: (ObjectChanges) -> Void) {
    guard !object.isInserted else { return }
    let changes = object.ownChanges
    changes.count += 1
    change(changes)
    // One that is deleted stays so; what it loses comes back if that is taken back.
    guard !object.isDeleted else { return }
    object.state.insert(.updated)
    updated.insert(object)
    tell(\.updated, object)
  }

  /// Has an object count as unchanged, if nothing of it is changed any more.
  func settle(_ object: ManagedObject) {
    guard object.changes?.isEmpty != false, object.isUpdated else { return }
    object.state.remove(.updated)
    updated.remove(object)
    if isFollowed { tellFollowers(of: object, isRefreshed: false) }
    observer?.note(object)
  }

  /// Forgets which properties of an object were set, where they are as its row has them; returns
  /// whether the object is unchanged then.
  ///
  /// Fetches show an unchanged object as the store has it, and saves leave it alone (C-05).
  ///
  /// - Complexity: O(properties that were set).
  func settleUnedited(_ object: ManagedObject) -> Bool {
    guard object.isUpdated, let entity = object.entityDescription else { return false }
    let set = (object.changes?.originals.map(\.key) ?? []).map { entity.properties[$0] }
    let related = (object.changes?.members.map(\.key) ?? []).map { entity.properties[$0] }
    for property in set { settle(object, property) }
    for property in related { settleMembers(of: object, property) }
    settle(object)
    return !object.hasChanges
  }

  /// The objects at the other end of a relationship.
  func related(to object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject] {
    if case .toOne = property.kind { return toOneTarget(of: object, property).map { [$0] } ?? [] }
    return loadedMembers(of: object, property)
  }

  /// Takes back everything that was not saved.
  ///
  /// Changed objects are as they were read; nothing is read again.
  public func rollback() {
    confinement?.enter()
    defer { confinement?.leave() }
    forgetUndo()
    for object in inserted.all {
      tell(\.deleted, object)
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
      takeBackChanges(of: object)
      tell(\.refreshed, object)
    }
    isDeleting = []
    showHiddenMembers()
    for part in others { part.rollback() }
    processPendingChanges()
  }

  /// Gives an object back the values and members it was read with.
  func takeBackChanges(of object: ManagedObject) {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    for (slot, value) in changes.originals {
      try? object.setStoredValue(value, entity.properties[slot])
    }
    // Members that were not read again are asked for when they are needed.
    for slot in changes.members.keys { object.setMembers(nil, entity.properties[slot]) }
    object.changes = nil
  }
}
