extension ManagedObjectContext {
  /// Returns the object with the given ID, as a fault if it is not registered.
  ///
  /// The method does not read the store, and the row need not exist. If an object was inserted in
  /// this context, a parent or a child, its temporary ID still identifies it after a save. For a
  /// temporary ID from any other context, the method returns a fault without a row.
  ///
  /// - Precondition: The ID belongs to this container and to class `M`.
  public func object<M: ManagedObject>(_ type: M.Type = M.self, with id: ManagedObjectID) -> M {
    if let storeContext = otherStoreContext(of: id.space.store) {
      return storeContext.object(type, with: id)
    }
    guard isOwn(id), let object = object(id.number) as? M else {
      fatalError(
        "\(id) does not identify an object of class \(M.self) in this container. Pass the object's "
          + "actual class, and use a context from the container that the ID belongs to.")
    }
    return object
  }

  /// Loads and returns the object with the given ID, or returns `nil` if there is neither a row nor
  /// a new object with this ID.
  ///
  /// - Throws: Any error from reading the row.
  /// - Complexity: Reads one row if the object is a fault or is not registered.
  public func existingObject<M: ManagedObject>(
    _ type: M.Type = M.self, with id: ManagedObjectID
  ) throws -> M? {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(of: id.space.store) {
      return try storeContext.existingObject(type, with: id)
    }
    try requireReadable()
    if let known: M = registeredObject(for: id), !known.isFault, !known.isInaccessible {
      return known
    }
    let number = resolved(id.number)
    guard isOwn(id), let storage = model.storage(of: number), storage.entity.type is M.Type
    else { return nil }
    if parent != nil {
      guard let object = object(number) else { return nil }
      return try load(object) ? object as? M : nil
    }
    return try currentView().withRecord(number, storage) { view in
      try materialize(number, storage, view)
    } as? M
  }

  /// Returns the registered object with the given ID, or `nil` if there is none.
  ///
  /// The method does not read the store.
  public func registeredObject<M: ManagedObject>(
    _ type: M.Type = M.self, for id: ManagedObjectID
  ) -> M? {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(of: id.space.store) {
      return storeContext.registeredObject(type, for: id)
    }
    return isOwn(id) ? registered[resolved(id.number)]?.takeUnretainedValue() as? M : nil
  }

  /// Returns whether an ID belongs to this store.
  ///
  /// An object number alone does not identify the store, because stores assign numbers
  /// independently.
  func isOwn(_ id: ManagedObjectID) -> Bool {
    id.space === model.space || id.space.store == model.space.store
  }

  /// Returns the object for a row, after filling an outdated object from the row's record.
  ///
  /// An object with unsaved changes is not filled. Returns `nil` if the entity's class is not a
  /// subclass of `ManagedObject`.
  func materialize(
    _ number: ObjectNumber, _ storage: EntityStorage, _ view: RecordView
  ) throws -> ManagedObject? {
    guard let object = registered[number]?.takeUnretainedValue() ?? make(number, storage) else {
      return nil
    }
    if object.isInaccessible {
      unmarkDeleted(object)
      try fillFault(object, storage, view)
      if isFollowed { notifyFollowers(of: object, isRefreshed: false) }
      observer?.recordChange(of: object)
    } else if object.isFault {
      try fillFault(object, storage, view)
    } else if object.version != view.version, !object.hasChanges {
      try fill(object, storage, view)
      forgetMembers(of: object, storage.entity)
      notifyObservers(of: object, as: \.refreshed)
    } else if object.version == view.version {
      try readDerived(object, storage, view)
      if object.state.contains(.membersMayBeStale) { forgetMembers(of: object, storage.entity) }
    }
    return object
  }

  /// Rereads the attributes that are derived from related objects.
  ///
  /// Recomputing such an attribute does not change the version of the row, so the stored value may
  /// differ from the object's value even if the versions are equal.
  private func readDerived(
    _ object: ManagedObject, _ storage: EntityStorage, _ view: RecordView
  ) throws {
    if !pendingValues.isEmpty { markPendingValueStale(of: object) }
    var isChanged = false
    for attribute in storage.entity.derived
    where attribute.isOverRelationship && object.changes?.originals[attribute.slot] == nil {
      let value = try storage.value(attribute.slot, view)
      let mine = try? object.storedValue(attribute.property)
      if let mine, mine.isIdentical(to: value) { continue }
      try object.setStoredValue(value, attribute.property)
      isChanged = true
    }
    if isChanged { notifyObservers(of: object, as: \.refreshed) }
  }

  /// Discards the loaded members of to-many relationships, so that they are read again.
  ///
  /// Unsaved additions and removals are kept, and ordered relationships with unsaved changes stay
  /// loaded.
  func forgetMembers(of object: ManagedObject, _ entity: EntityDescription) {
    for property in entity.relationships {
      guard case .toMany(let isOrdered) = property.kind,
        !isOrdered || object.changes?.members[property.slot] == nil
      else { continue }
      object.setMembers(nil, property)
    }
    object.state.remove(.membersMayBeStale)
    observer?.recordChange(of: object)
  }

  func fill(_ object: ManagedObject, _ storage: EntityStorage, _ view: RecordView) throws {
    if !pendingValues.isEmpty { markPendingValueStale(of: object) }
    try storage.fillers[Int(view.layout.number)].fill(object, from: view)
    object.version = view.version
    awaken(object)
  }

  /// Fills a fault from a record, and keeps the edits that were made while the row was missing.
  private func fillFault(
    _ object: ManagedObject, _ storage: EntityStorage, _ view: RecordView
  ) throws {
    if let changes = object.changes, !changes.isEmpty {
      return try reload(object, under: changes) {
        try fillAgain(object, storage, view, changes)
        return true
      }
    }
    try fill(object, storage, view)
    if object.state.contains(.membersMayBeStale) { forgetMembers(of: object, storage.entity) }
  }

  /// Loads an object from the parent context if the object is a fault.
  ///
  /// - Returns: `false` if the object is deleted, or if the parent has no such object.
  private func load(_ object: ManagedObject) throws -> Bool {
    if object.isInaccessible { loadReturnedObjects() }
    guard object.isFault, let parent else { return !object.isDeleted }
    guard let changes = object.changes, !changes.isEmpty else { return fill(object, from: parent) }
    try reload(object, under: changes)
    return !object.isFault
  }

  /// Notifies an object that its values were loaded.
  func awaken(_ object: ManagedObject) {
    object.state.subtract([.fault, .withoutValues])
    object.state.insert(.awakening)
    object.setHooks(.writing)
    object.awakeFromFetch()
    object.state.remove(.awakening)
    if object.keptValues != nil { object.updateKeptValues() }
  }

  // MARK: Faults

  /// Turns an object into a fault, so that its values are read again on the next use.
  ///
  /// All unsaved changes to the object are discarded.
  func turnIntoFault(_ object: ManagedObject) {
    guard !object.isInserted else { return }
    guard !object.isFault else {
      guard object.changes != nil else { return }
      revertChanges(of: object)
      return notifyObservers(of: object, as: \.refreshed)
    }
    object.setHooks([])
    object.willTurnIntoFault()
    // Reset every property to its initial value, so that the old value is released.
    let new = type(of: object).init()
    for property in object.entityDescription?.properties ?? [] { object.copy(property, from: new) }
    object.changes = nil
    object.version = 0
    object.state.remove(.withoutValues)
    object.state.insert(.fault)
    object.setHooks([.reading, .writing])
    object.didTurnIntoFault()
    notifyObservers(of: object, as: \.refreshed)
  }

  /// Turns an object back into a fault.
  ///
  /// The object's values were never loaded, because its row was missing. The fault keeps the
  /// object's unsaved changes.
  func makeFaultAgain(_ object: ManagedObject) {
    object.state.remove(.withoutValues)
    object.state.insert([.fault, .membersMayBeStale])
    object.version = 0
    object.setHooks([.reading, .writing])
  }

  /// Removes all objects and changes from the context.
  ///
  /// Objects that your program still references no longer belong to a context. These objects keep
  /// their loaded attributes, but lose their related objects. If an object was a fault, its
  /// properties now have their initial values.
  public func reset() {
    confinement?.enter()
    defer { confinement?.leave() }
    for storeContext in storeContexts { storeContext.abandonAll() }
    advance()
    faultError = nil
    processPendingChanges()
    // Drop the contexts of removed stores only now, when their pins have been released and their
    // lists are empty.
    otherStoreContexts.removeAll(where: \.model.isRemoved)
  }

  func requireOwn(_ object: ManagedObject) throws {
    guard object.source === self else {
      throw ObjectGraphError(
        .foreignObject,
        "This \(type(of: object)) does not belong to this context. If the object has been saved, "
          + "look it up in this context by its objectID. If the object does not belong to any "
          + "context, insert it into this context. Otherwise, use the object in its own context.")
    }
  }
}

extension ManagedObjectContext: ObjectSource {
  func object(_ number: ObjectNumber) -> ManagedObject? {
    confinement?.enter()
    defer { confinement?.leave() }
    let number = resolved(number)
    if let known = registered[number] { return known.takeUnretainedValue() }
    return model.storage(of: number).flatMap { make(number, $0) }
  }

  /// Creates a fault for a row, or returns `nil` if the entity's class is not a subclass of
  /// `ManagedObject`.
  private func make(_ number: ObjectNumber, _ storage: EntityStorage) -> ManagedObject? {
    guard let type = storage.objectType else { return nil }
    let object = type.init()
    object.entityDescription = storage.entity
    object.state = .fault
    object.hooks = [.reading, .writing]
    register(object, number)
    return object
  }

  func forget(_ number: ObjectNumber) {
    confinement?.enter()
    defer { confinement?.leave() }
    registered[number] = nil
    observer?.forget(number)
  }

  func fire(_ object: ManagedObject) {
    fire(object) { try currentView() }
  }

  /// Loads the values of a fault from a view.
  func fire(_ object: ManagedObject, in view: StoreView) {
    fire(object) { view }
  }

  private func fire(_ object: ManagedObject, _ view: () throws -> StoreView) {
    confinement?.enter()
    defer { confinement?.leave() }
    guard object.isFault, let entity = object.entityDescription else { return }
    do {
      if parent != nil {
        if try !load(object) { try markInaccessible(object) }
        return
      }
      guard !model.isRemoved else { return try markInaccessible(object) }
      let storage = model.storage(of: entity)
      let isThere: Void? = try view().withRecord(object.number, storage) { view in
        try fillFault(object, storage, view)
      }
      if isThere == nil { try markInaccessible(object) }
    } catch {
      // Check again, because the store may have been removed since the check above.
      if model.isRemoved, object.isFault, (try? markInaccessible(object)) != nil { return }
      // Record the error, so that saves throw it. The object remains a fault, so its properties
      // have only their initial values, which must not be stored.
      recordFaultError(error)
    }
  }

  /// Marks a fault as deleted when its row or its store no longer exists.
  ///
  /// In a pinned context, the row may exist only in a newer generation, so the fault usually stays
  /// unchanged.
  ///
  /// - Throws: `missingObject` or `removedStore` if the context's settings do not allow the fault
  ///   to be marked as deleted.
  private func markInaccessible(_ object: ManagedObject) throws {
    // In a pinned generation, the row may not exist yet. In that case, do not mark the object as
    // deleted, because a save would delete the row if it has since been inserted.
    if isPinned, !model.isRemoved, !isDeleting.contains(ObjectIdentifier(object)),
      parent?.object(object.number)?.isDeleted != true
    {
      return
    }
    let isDeletedAnyway = !isDeleting.isEmpty
    guard
      isDeletedAnyway
        || rootContext.shouldHandleInaccessibleFault?(object)
          ?? rootContext.shouldDeleteInaccessibleFaults
    else {
      try requirePresent()
      throw ObjectGraphError(
        .missingObject,
        "The row of this \(type(of: object)) no longer exists. Stop using the object, or set "
          + "shouldDeleteInaccessibleFaults to treat such objects as deleted.",
        objectID: ManagedObjectID(object.number, model.space))
    }
    object.state.remove(.fault)
    object.state.insert([.deleted, .withoutValues])
    object.setHooks(.writing)
    if !isDeletedAnyway { object.version = ManagedObject.missingRowVersion }
    // Do not schedule a deletion if the store was removed from the container, because a save could
    // not delete the row.
    if !model.isRemoved {
      // The fault may have been edited while the pinned generation did not contain its row. Remove
      // the object from `updated`, because it can be in only one of the lists.
      updated.remove(object)
      deleted.insert(object)
      // Record the deletion here, because the caller ignores objects that are already deleted.
      if isDeletedAnyway { undoLog?.record(.deletion(object)) }
      if parent != nil { missing.insert(object.number) }
    }
    if isFollowed { notifyFollowers(of: object, isRefreshed: false) }
    // Notify observers of `deletedObjects` later, because an observer may be reading the object.
    if observer != nil { scheduleProcessingOnce() }
  }

  func willChange(_ object: ManagedObject, _ property: PropertyDescription) {
    willWriteElement(object, property)
    if object.isInserted { object.recordAssignment(of: property) }
  }

  func willWriteElement(_ object: ManagedObject, _ property: PropertyDescription) {
    confinement?.enter()
    defer { confinement?.leave() }
    if !pendingValues.isEmpty { markPendingValueStale(of: object, property) }
    if let undoLog, property.isAttribute {
      undoLog.recordValue(of: object, property, isFirst: isFirstChange(of: object, property))
    }
    if object.isInserted {
      // Count the changes to a new object only during a save, which uses the count to decide
      // whether to call `willSave` again.
      if object.state.contains(.willSaveCalled) { object.ownChanges.count += 1 }
      if isFollowed { notifyFollowers(of: object, isRefreshed: false) }
      return
    }
    recordChange(of: object) { changes in
      guard changes.originals[property.slot] == nil else { return }
      // A value that cannot be stored cannot have been read from a row, so record null instead.
      changes.originals[property.slot] = (try? object.storedValue(property)) ?? .null
    }
  }
}
