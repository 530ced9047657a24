extension ManagedObjectContext {
  /// Makes a context whose store is another context.
  ///
  /// It sees the parent's objects as they are there, saved or not. Saving it changes the parent's
  /// objects, and nothing in the store; the parent decides whether to save them.
  ///
  /// - Precondition: It is used by the same thread as its parent.
  public convenience init(parent: ManagedObjectContext) {
    self.init(parent.group.first, of: parent.group, parent: parent)
    confinement?.enter()
    defer { confinement?.leave() }
    parent.children.append(Child(context: self))
  }

  /// A context below another one, which does not hold it.
  struct Child {
    weak var context: ManagedObjectContext?
  }

  /// Gives an object the values it has in the parent; false if it is gone there.
  func fill(_ object: ManagedObject, from parent: ManagedObjectContext) -> Bool {
    guard let original = parent.existingObject(object.number) else { return false }
    if original.isFault { parent.fire(original) }
    guard !original.isDeleted, !original.isFault else { return false }
    if !pendingValues.isEmpty { notePendingValue(of: object) }
    for property in object.entityDescription?.properties ?? [] {
      switch property.kind {
      case .attribute: object.copy(property, from: original)
      case .toOne:
        // Of this context, once it is asked for.
        if case .object(let target) = original.target(property) {
          // A number that a save will change is no good to remember; the object learns of it.
          let own = target.number.isTemporary ? self.object(target.number) : nil
          object.setTarget(own.map { .object($0) } ?? .number(target.number.bits), property)
        } else {
          object.copy(property, from: original)
        }
      case .toMany(let isOrdered):
        // As with rows: a list that was changed here is merged with the parent's.
        guard !isOrdered || object.changes?.members[property.slot] == nil else { continue }
        object.setMembers(nil, property)
      case .transient: break
      }
    }
    awaken(object)
    return true
  }

  /// Reads an object again that is unchanged here and not as the parent has it now.
  ///
  /// - Complexity: O(properties), and O(members) for each relationship that was loaded here.
  func fillAgainIfStale(_ object: ManagedObject, from original: ManagedObject) {
    guard let parent, !object.isFault, !object.hasChanges, let entity = object.entityDescription
    else { return }
    let isSame = entity.properties.allSatisfy { property in
      switch property.kind {
      case .attribute, .toOne: return hasSame(property, object, original)
      case .toMany(let isOrdered):
        guard object.hasMembers(property) else { return true }
        let mine = object.members(property)?.map(\.number) ?? []
        let theirs = parent.loadedMembers(of: original, property).map(\.number)
        return isOrdered ? mine == theirs : Set(mine) == Set(theirs)
      case .transient: return true
      }
    }
    guard !isSame, fill(object, from: parent) else { return }
    tell(\.refreshed, object)
  }

  /// The object of a number, unless it is deleted, or was new and is gone, or the pinned generation
  /// has no row of it.
  ///
  /// A new object is nowhere but in contexts: where none from here upwards has it, it was taken
  /// back.
  private func existingObject(_ number: ObjectNumber) -> ManagedObject? {
    let number = resolved(number)
    var context: ManagedObjectContext? = number.isTemporary ? self : nil
    while let one = context, one.registered[number] == nil {
      guard one.parent != nil else { return nil }
      context = one.parent
    }
    guard let object = object(number), !object.isDeleted else { return nil }
    guard isPinned, object.isFault else { return object }
    fire(object)
    return object.isFault ? nil : object
  }

  // MARK: Saving

  /// Makes the parent's objects what those here are.
  func push(to parent: ManagedObjectContext) {
    let changed = inserted.all + updated.all
    let before = changed.map { members(ofOriginalOf: $0, in: parent) }
    for object in inserted.all { adopt(object, into: parent) }
    for (object, before) in zip(changed, before) { push(object, to: parent, before) }
    for object in deleted.all {
      if let original = parent.existingObject(object.number) { parent.delete(original) }
      object.state.remove(.registered)
      object.help = []
      leave(object)
    }
    for object in changed {
      object.state.subtract([.inserted, .updated])
      object.changes = nil
      object.setHelp(.writing)
    }
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    tellFollowersOfAll()
  }

  /// Makes an object of the parent for one that is new here, of the same number.
  private func adopt(_ object: ManagedObject, into parent: ManagedObjectContext) {
    let original = type(of: object).init()
    // It was awoken here already.
    original.state.insert(.hasAwoken)
    parent.insert(original)
    // Somebody may have asked the parent for it before it was there.
    parent.dismissFault(object.number)
    _ = parent.exchange(original.number, for: object.number)
  }

  /// The members that the parent has of relationships that were changed here, by slot; taken down
  /// before anything is pushed, as either side of a relationship changes both.
  private func members(
    ofOriginalOf object: ManagedObject, in parent: ManagedObjectContext
  ) -> [Int: [ObjectNumber]] {
    guard let edits = object.changes?.members, !edits.isEmpty, !object.isInserted,
      let entity = object.entityDescription,
      let original = parent.relatableObject(object.number)
    else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: edits.map { slot, _ in
        (slot, parent.loadedMembers(of: original, entity.properties[slot]).map(\.number))
      })
  }

  /// - Parameter before: The members that the parent had of relationships that were changed here.
  private func push(
    _ object: ManagedObject, to parent: ManagedObjectContext, _ before: [Int: [ObjectNumber]]
  ) {
    guard let original = parent.relatableObject(object.number) else { return }
    if original.isFault { parent.fire(original) }
    let isNew = object.isInserted
    for property in object.entityDescription?.properties ?? [] {
      let isSet = isNew || object.changes?.originals[property.slot] != nil
      switch property.kind {
      case .attribute where isSet:
        // What was set to the value it has is no change there either.
        guard isNew || !hasSame(property, object, original) else { continue }
        parent.willChange(original, property)
        original.copy(property, from: object)
      case .toOne where isSet:
        parent.relate(
          original, property,
          to: toOneTarget(of: object, property).flatMap { parent.relatableObject($0.number) })
      case .toMany:
        guard let edit = object.changes?.members[property.slot] else { continue }
        let members = merged(edit, object, property, with: before[property.slot] ?? [])
        parent.relate(original, property, to: members.compactMap { parent.relatableObject($0) })
      case .attribute, .toOne, .transient: continue
      }
    }
    // All values of a new object were set just now; what counts is what was set here.
    if isNew, original.isInserted, object.entityDescription?.hasUniques == true {
      original.ownChanges.assigned = object.changes?.assigned ?? SlotSet()
    }
  }

  /// The members that an object of the parent has with what was changed here.
  ///
  /// - Parameter theirs: The members that it has without; others than were read from it perhaps.
  private func merged(
    _ edit: MemberChanges, _ object: ManagedObject, _ property: PropertyDescription,
    with theirs: [ObjectNumber]
  ) -> [ObjectNumber] {
    let mine = property.isOrdered ? loadedMembers(of: object, property).map(\.number) : nil
    let removed = Set(edit.removed.map(\.number))
    let merge = ListMerge(
      base: edit.base?.map(\.number), theirs: theirs, mine: mine, prefersMine: true)
    return merge.merged(theirs.filter { !removed.contains($0) } + edit.added.map(\.number))
  }

  /// The object of a number that others can be related to: one with a row, or a new one.
  private func relatableObject(_ number: ObjectNumber) -> ManagedObject? {
    guard let object = existingObject(number) else { return nil }
    guard object.isFault, !object.number.isTemporary else { return object }
    if let parent { return parent.relatableObject(number).map { _ in object } }
    guard let storage = model.storage(of: object.number), let view = try? currentView(),
      let found = try? view.withRecord(object.number, storage, { _ in true })
    else { return nil }
    return found ? object : nil
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

  /// Exchanges the temporary IDs of new objects for lasting ones, before they are saved.
  ///
  /// - Throws: What kept the store from being written.
  /// - Complexity: One transaction.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    confinement?.enter()
    defer { confinement?.leave() }
    for part in others { try part.obtainPermanentIDs(for: objects) }
    // In the order in which they were inserted, as a save does.
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
