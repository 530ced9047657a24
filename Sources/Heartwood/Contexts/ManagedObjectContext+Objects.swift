extension ManagedObjectContext {
  /// The object of an ID, a fault if it is not here yet; nothing is read, and it need not exist.
  ///
  /// A temporary ID leads to the object that was inserted here, in a parent or in a child context
  /// under it, also after it was saved; in other contexts to a fault whose row is gone.
  ///
  /// - Precondition: The ID is of this container's store and of class `M`.
  public func object<M: ManagedObject>(_ type: M.Type = M.self, with id: ManagedObjectID) -> M {
    if let part = otherPart(of: id.space.store) { return part.object(type, with: id) }
    guard isOwn(id), let object = object(id.number) as? M else {
      fatalError("\(id) names no object of class \(M.self)")
    }
    return object
  }

  /// The object of an ID with its values; `nil` if there is no such row, and no new object.
  ///
  /// - Throws: What kept the row from being read.
  /// - Complexity: One row read, unless the object is here and no fault.
  public func existingObject<M: ManagedObject>(
    _ type: M.Type = M.self, with id: ManagedObjectID
  ) throws -> M? {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(of: id.space.store) { return try part.existingObject(type, with: id) }
    try requireReadable()
    if let known: M = registeredObject(for: id), !known.isFault, !known.isGivenUp { return known }
    let number = resolved(id.number)
    guard isOwn(id), let storage = model.storage(of: number), storage.entity.type is M.Type
    else { return nil }
    if parent != nil {
      guard let object = object(number) else { return nil }
      return load(object) ? object as? M : nil
    }
    return try currentView().withRecord(number, storage) { view in
      try realise(number, storage, view)
    } as? M
  }

  /// The object of an ID if it is here; nothing is read.
  public func registeredObject<M: ManagedObject>(
    _ type: M.Type = M.self, for id: ManagedObjectID
  ) -> M? {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(of: id.space.store) { return part.registeredObject(type, for: id) }
    return isOwn(id) ? registered[resolved(id.number)]?.takeUnretainedValue() as? M : nil
  }

  /// Whether an ID names an object of this store: numbers are the same in all of them.
  func isOwn(_ id: ManagedObjectID) -> Bool {
    id.space === model.space || id.space.store == model.space.store
  }

  /// The object of a row, filled from its record unless it is here already as it is there.
  ///
  /// One that was changed here stays as it is.
  func realise(
    _ number: ObjectNumber, _ storage: EntityStorage, _ view: RecordView
  ) throws -> ManagedObject? {
    guard let object = registered[number]?.takeUnretainedValue() ?? make(number, storage) else {
      return nil
    }
    if object.isGivenUp {
      deleted.remove(object)
      object.state.remove(.deleted)
      try fill(object, storage, view)
      if isFollowed { tellFollowers(of: object, isRefreshed: false) }
    } else if object.isFault {
      try fill(object, storage, view)
    } else if object.version != view.version, !object.hasChanges {
      try fill(object, storage, view)
      forgetMembers(of: object, storage.entity)
      tell(\.refreshed, object)
    } else if object.version == view.version {
      try readDerived(object, storage, view)
      if object.state.contains(.hasOtherMembers) { forgetMembers(of: object, storage.entity) }
    }
    return object
  }

  /// Takes over what was derived for a row since, which does not change its version.
  private func readDerived(
    _ object: ManagedObject, _ storage: EntityStorage, _ view: RecordView
  ) throws {
    if !pendingValues.isEmpty { notePendingValue(of: object) }
    for attribute in storage.entity.derived
    where attribute.isOverRelationship && object.changes?.originals[attribute.slot] == nil {
      try object.setStoredValue(try storage.value(attribute.slot, view), attribute.property)
    }
  }

  /// Has to-many relationships read again, under who has joined and left here; those with an order
  /// that were changed here stay as they are.
  func forgetMembers(of object: ManagedObject, _ entity: EntityDescription) {
    for property in entity.relationships {
      guard case .toMany(let isOrdered) = property.kind,
        !isOrdered || object.changes?.members[property.slot] == nil
      else { continue }
      object.setMembers(nil, property)
    }
    object.state.remove(.hasOtherMembers)
  }

  func fill(_ object: ManagedObject, _ storage: EntityStorage, _ view: RecordView) throws {
    if !pendingValues.isEmpty { notePendingValue(of: object) }
    try storage.fillers[Int(view.layout.number)].fill(object, from: view)
    object.version = view.version
    awaken(object)
  }

  /// Loads a fault from the parent; false if it is gone there.
  private func load(_ object: ManagedObject) -> Bool {
    guard object.isFault, let parent else { return !object.isDeleted }
    return fill(object, from: parent)
  }

  /// Tells an object that its values were loaded.
  func awaken(_ object: ManagedObject) {
    object.state.remove(.fault)
    object.setHelp([])
    object.awakeFromFetch()
    object.setHelp(.writing)
  }

  // MARK: Faults

  /// Gives up the values of an object; it reads them again when it is used.
  func turnIntoFault(_ object: ManagedObject) {
    guard !object.isFault, !object.isInserted else { return }
    object.setHelp([])
    object.willTurnIntoFault()
    // Every property is as in a new object, and what it held is released.
    let new = type(of: object).init()
    for property in object.entityDescription?.properties ?? [] { object.copy(property, from: new) }
    object.changes = nil
    object.version = 0
    object.state.insert(.fault)
    object.setHelp([.reading, .writing])
    object.didTurnIntoFault()
    tell(\.refreshed, object)
  }

  /// Forgets all objects and changes.
  ///
  /// Objects still held are of no context then: they keep the attributes that were loaded, and are
  /// related to nobody. A fault has the values of a new object.
  public func reset() {
    confinement?.enter()
    defer { confinement?.leave() }
    for part in parts { part.abandonAll() }
    others.removeAll(where: \.model.isRemoved)
    advance()
    faultError = nil
    processPendingChanges()
  }

  func requireOwn(_ object: ManagedObject) throws {
    guard object.source === self else {
      throw ObjectGraphError(
        .foreignObject, "A \(type(of: object)) of another context was used; fetch it in this one.")
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

  /// Makes the object of a row, a fault.
  private func make(_ number: ObjectNumber, _ storage: EntityStorage) -> ManagedObject? {
    guard let type = storage.entity.type as? ManagedObject.Type else { return nil }
    let object = type.init()
    object.entityDescription = storage.entity
    object.state = .fault
    object.help = [.reading, .writing]
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

  /// Loads the values of a fault from a generation of its own.
  func fire(_ object: ManagedObject, in view: StoreView) {
    fire(object) { view }
  }

  private func fire(_ object: ManagedObject, _ view: () throws -> StoreView) {
    confinement?.enter()
    defer { confinement?.leave() }
    guard object.isFault, let entity = object.entityDescription else { return }
    do {
      if parent != nil {
        if !load(object) { try giveUp(object) }
        return
      }
      guard !model.isRemoved else { return try giveUp(object) }
      let storage = model.storage(of: entity)
      let isThere: Void? = try view().withRecord(object.number, storage) { view in
        try fill(object, storage, view)
      }
      if isThere == nil { try giveUp(object) }
    } catch {
      // It was removed since it was looked at.
      if model.isRemoved, object.isFault, (try? giveUp(object)) != nil { return }
      // It stays a fault with the values of a new object; nothing of it must be saved.
      noteUnreadable(error)
    }
  }

  /// The row of a fault is gone, or its store is.
  private func giveUp(_ object: ManagedObject) throws {
    // In the generation of a pin it may only not be there yet: a save must not delete it then.
    if isPinned, !model.isRemoved, !isDeleting.contains(ObjectIdentifier(object)),
      parent?.object(object.number)?.isDeleted != true
    {
      return
    }
    let isDeletedAnyway = !isDeleting.isEmpty
    guard
      isDeletedAnyway
        || whole.shouldHandleInaccessibleFault?(object)
          ?? whole.shouldDeleteInaccessibleFaults
    else {
      try requirePresent()
      throw ObjectGraphError(
        .missingObject, "The row of a \(type(of: object)) is gone.",
        objectID: ManagedObjectID(object.number, model.space))
    }
    object.state.remove(.fault)
    object.state.insert(.deleted)
    object.setHelp(.writing)
    if !isDeletedAnyway { object.version = ManagedObject.goneVersion }
    // A save would have nothing to forget where there is no store.
    if !model.isRemoved { deleted.insert(object) }
    if isFollowed { tellFollowers(of: object, isRefreshed: false) }
  }

  func willChange(_ object: ManagedObject, _ property: PropertyDescription) {
    confinement?.enter()
    defer { confinement?.leave() }
    if !pendingValues.isEmpty { notePendingValue(of: object, property) }
    if let undoLog, property.isAttribute {
      undoLog.recordValue(of: object, property, isFirst: isFirstChange(of: object, property))
    }
    if object.isInserted {
      object.noteAssigned(property)
      if isFollowed { tellFollowers(of: object, isRefreshed: false) }
      return
    }
    noteChange(of: object) { changes in
      guard changes.originals[property.slot] == nil else { return }
      // What cannot be stored was never in a row.
      changes.originals[property.slot] = (try? object.storedValue(property)) ?? .null
    }
  }
}
