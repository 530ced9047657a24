extension ManagedObjectContext {
  /// Takes an object into the context: saving makes a row of it.
  ///
  /// - Precondition: Its class is part of the model and not abstract, and it belongs to no other
  ///   context.
  public func insert(_ object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if object.source === self {
      if object.isDeleted, deleted.contains(object) { revive(object) }
      return
    }
    if let part = otherPart(holding: object) ?? otherPart(for: type(of: object)) {
      return part.insert(object)
    }
    precondition(
      object.source == nil && object.number.bits == 0, "an object belongs to one context only")
    let entity = entity(of: object)
    precondition(!entity.isAbstract, "\(entity.name) is abstract; insert objects of subclasses")
    object.entityDescription = entity
    object.state.insert(.inserted)
    register(object, nextTemporaryNumber(entity))
    inserted.insert(object)
    undoLog?.record(.insertion(object))
    tell(\.inserted, object)
    object.setHelp(helpOfNew(entity))
    let written = object.changes?.written ?? []
    object.changes = nil
    if !object.state.contains(.hasAwoken) {
      object.state.insert(.hasAwoken)
      object.awakeFromInsert()
    }
    guard entity.hasUniques else { return }
    // What awakeFromInsert sets is what a new object has by itself.
    object.changes?.assigned = SlotSet()
    for offset in written {
      if let property = entity.property(at: offset) { object.noteAssigned(property) }
    }
  }

  /// What setting properties of new objects has to be told for.
  func helpOfNew(_ entity: EntityDescription) -> ObjectHelp {
    tracksUndo || isFollowed || observer != nil || entity.hasUniques ? .writing : []
  }

  /// Takes back that an object was deleted.
  func revive(_ object: ManagedObject) {
    undoLog?.record(.insertion(object))
    deleted.remove(object)
    object.state.remove(.deleted)
    tell(\.inserted, object)
    guard let changes = object.changes, !changes.isEmpty else { return }
    object.state.insert(.updated)
    updated.insert(object)
  }

  /// Deletes an object; what its relationships say becomes of others happens at once.
  ///
  /// One that was never saved just leaves the context.
  ///
  /// - Precondition: It belongs to this context.
  public func delete(_ object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(holding: object) { return part.delete(object) }
    precondition(object.source === self, "an object is deleted in the context it belongs to")
    guard !object.isDeleted, isDeleting.insert(ObjectIdentifier(object)).inserted else { return }
    defer { isDeleting.remove(ObjectIdentifier(object)) }
    if object.isFault { fire(object) }
    guard !object.isDeleted else { return }
    object.prepareForDeletion()
    propagateDelete(of: object)
    if object.isInserted {
      undoLog?.record(.deletion(object))
      inserted.remove(object)
      tell(\.deleted, object)
      return abandon(object)
    }
    markDeleted(object)
  }

  func markDeleted(_ object: ManagedObject) {
    undoLog?.record(.deletion(object))
    updated.remove(object)
    object.state.insert(.deleted)
    deleted.insert(object)
    tell(\.deleted, object)
  }

  private func propagateDelete(of object: ManagedObject) {
    guard let entity = object.entityDescription else { return }
    for property in entity.relationships {
      let others = related(to: object, property)
      switch property.options.deleteRule ?? .nullify {
      case .noAction, .deny: continue
      case .cascade: for other in others { delete(other) }
      case .nullify: break
      }
      unrelate(object, property)
    }
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
    for object in changed {
      object.state.subtract([.updated, .deleted])
      restore(object)
      tell(\.refreshed, object)
    }
    isDeleting = []
    for part in others { part.rollback() }
    processPendingChanges()
  }

  private func restore(_ object: ManagedObject) {
    guard let changes = object.changes, let entity = object.entityDescription else { return }
    for (slot, value) in changes.originals {
      try? object.setStoredValue(value, entity.properties[slot])
    }
    // Members that were not read again are asked for when they are needed.
    for slot in changes.members.keys { object.setMembers(nil, entity.properties[slot]) }
    object.changes = nil
  }
}
