extension ManagedObjectContext {
  /// Inserts an object into the context.
  ///
  /// The next save creates a row for the object. Related objects that do not belong to a context
  /// are also inserted. Inserting an object whose deletion has not been saved reverts the deletion.
  /// An object whose insertion was reverted before a save, or whose row was deleted, becomes a new
  /// object with a new ID.
  ///
  /// - Precondition: The object's class is in the model and is not abstract. The object belongs to
  ///   no other context and has no row.
  public func insert(_ object: ManagedObject) {
    confinement?.enter()
    defer { confinement?.leave() }
    if object.source === self {
      guard object.isDeleted, deleted.contains(object) else { return }
      // Without a row, the deletion cannot be reverted, so insert the object as a new one. In a
      // pinned generation, however, the row may merely not exist yet.
      if object.state.contains(.withoutValues), object.isInaccessible || !isPinned {
        return insertAsNew(object)
      }
      revive(object)
      for storeContext in rootContext.storeContexts { storeContext.showHiddenMembers() }
      return
    }
    if let storeContext = otherStoreContext(holding: object)
      ?? otherStoreContext(for: type(of: object))
    {
      return storeContext.insert(object)
    }
    requireInsertable(object)
    let own = register(new: object)
    guard !own.isEmpty else { return }
    // Use a work list instead of recursion, because a chain of related objects can be arbitrarily
    // long.
    var new: [ManagedObject] = []
    var relationships: [(object: ManagedObject, offset: Int, related: PendingRelated)] = []
    func collect(_ pending: [Int: PendingRelated], of object: ManagedObject) {
      for (offset, related) in pending {
        relationships.append((object, offset, related))
        new += related.all.filter { $0.source == nil && !$0.hasRow }
      }
    }
    collect(own, of: object)
    while let next = new.popLast() {
      guard next.source == nil else { continue }
      collect(register(new: next), of: next)
    }
    for (object, offset, related) in relationships where object.source === self {
      guard let property = object.entityDescription?.property(at: offset) else { continue }
      switch related {
      case .target(let target): relate(object, property, to: target)
      case .list(let members): relate(object, property, to: members)
      case .set(let members): relate(object, property, to: members, hashed: nil)
      }
    }
  }

  /// Inserts an object again, as a new object, after its row was found to be missing.
  private func insertAsNew(_ object: ManagedObject) {
    // Undoing the insertion must not restore an object that other contexts have deleted.
    undoLog?.forgetDeletion(of: object)
    // Keep the member changes, because the members' side of each relationship already refers to the
    // object.
    let members = object.changes?.members ?? [:]
    deleted.remove(object)
    leave(object)
    _ = register(new: object)
    for (slot, edit) in members where object.changes?.members[slot] == nil {
      object.ownChanges.members[slot] = edit
      object.ownChanges.members[slot]?.base = nil
    }
  }

  private func requireInsertable(_ object: ManagedObject) {
    // Use `fatalError`, because `precondition` would drop the message in a release build.
    guard object.source == nil else {
      fatalError(
        "This \(type(of: object)) belongs to another context and cannot be inserted into this one. "
          + "Save it in its own context, and then look it up here by its objectID.")
    }
    guard !object.hasRow else {
      fatalError(
        "This \(type(of: object)) already has a row in the store, so it cannot be inserted again. "
          + "Look it up in this context by its objectID.")
    }
  }

  /// Registers an object in this context.
  ///
  /// - Returns: The relationships that were set while the object belonged to no context.
  func register(new object: ManagedObject) -> [Int: PendingRelated] {
    let before = object.changes
    object.changes = nil
    if object.keptValues != nil { object.discardKeptValuesIfSet() }
    // Look up the entity again, because the object may have belonged to a context with a different
    // model.
    if object.number.bits != 0 { object.entityDescription = nil }
    let entity = entity(of: object)
    guard !entity.isAbstract else {
      fatalError(
        "\(entity.name) is abstract, so it cannot be instantiated. Insert an object of a subclass "
          + "instead.")
    }
    object.entityDescription = entity
    object.version = 0
    object.state.subtract([.fault, .updated, .deleted, .willSaveCalled, .withoutValues])
    object.state.insert(.inserted)
    let former = object.number
    register(object, nextTemporaryNumber(entity))
    // Update lists that still refer to the object by the number it had before it was deleted.
    if before?.wasNew == true { follower?.recordNumber(object.number, insteadOf: former) }
    inserted.insert(object)
    undoLog?.record(.insertion(object))
    // Check for observers first, because creating a key path takes longer than these checks.
    if isFollowed || observer != nil || !changeQueues.isEmpty {
      notifyObservers(of: object, as: \.inserted)
    }
    object.setHooks(hooksForNew(object, entity))
    if !object.state.contains(.hasAwoken) {
      object.state.insert(.hasAwoken)
      object.awakeFromInsert()
    }
    if entity.hasUniqueConstraints {
      // Clear the set of assigned slots, because a value set by `awakeFromInsert` is treated as a
      // default value, not as an assigned value.
      object.changes?.assigned = SlotSet()
      if let before, !before.assigned.isEmpty { object.ownChanges.assigned = before.assigned }
      for offset in before?.written ?? [] {
        let elements = entity.elements(ofCompositeAt: offset)
        for element in elements { object.recordAssignmentIfSet(element) }
        guard elements.isEmpty, let property = entity.property(at: offset) else { continue }
        object.recordAssignment(of: property)
      }
    }
    return before?.pending ?? [:]
  }

  /// Returns the access hooks for a new object of an entity.
  ///
  /// The result is `.writing` if the object must report property changes, and is empty otherwise.
  func hooksForNew(_ object: ManagedObject, _ entity: EntityDescription) -> AccessHooks {
    tracksUndo || isFollowed || observer != nil || entity.hasUniqueConstraints
      || object.keptValues != nil ? .writing : []
  }
}
