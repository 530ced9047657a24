extension ManagedObjectContext {
  /// Whether changes are remembered, so that ``undo()`` can take them back; off at first.
  ///
  /// What is remembered ends with a save, ``rollback()`` and ``reset()``.
  public var tracksUndo: Bool {
    get { undoLog != nil }
    set {
      confinement?.enter()
      defer { confinement?.leave() }
      guard newValue != tracksUndo else { return }
      let log = newValue ? UndoLog() : nil
      for part in parts {
        part.undoLog = log
        part.pendingValues = []
        // New objects do not tell of what is set otherwise.
        for object in part.inserted.all {
          object.setHelp(part.helpOfNew(part.entity(of: object)))
        }
      }
    }
  }

  /// Whether there is something that ``undo()`` would take back.
  public var canUndo: Bool { undoLog?.canUndo ?? false }
  /// Whether there is something that ``redo()`` would do again.
  public var canRedo: Bool { undoLog?.canRedo ?? false }

  /// Ends a group of changes, which ``undo()`` takes back together; the next change begins another.
  public func endUndoGroup() { performAndWait { undoLog?.endGroup() } }

  /// Takes back the last group of changes; nothing happens if there is none.
  public func undo() { take(back: { $0.beginUndo() }) }

  /// Does again what was last taken back; nothing happens if there was a change since.
  public func redo() { take(back: { $0.beginRedo() }) }

  private func take(back begin: (UndoLog) -> [UndoLog.Step]) {
    confinement?.enter()
    defer { confinement?.leave() }
    guard let undoLog else { return }
    for step in begin(undoLog) { part(describing: step.object)?.take(back: step) }
    for step in undoLog.postponedSteps() { part(describing: step.object)?.take(postponed: step) }
    undoLog.end()
    for part in whole.parts { part.showHiddenMembers() }
    processPendingChanges()
  }

  private func take(back step: UndoLog.Step) {
    let object = step.object
    switch step {
    case .insertion:
      guard object.source === self, !object.isDeleted else { return }
      return object.isInserted ? withdraw(object) : markDeleted(object)
    case .deletion:
      if object.source === self {
        if deleted.contains(object) { revive(object) }
      } else if object.source == nil, !object.hasRow, !object.isDeleted {
        restore(object)
      }
      for step in undoLog?.stepsWaiting(for: object) ?? [] { take(back: step) }
      return
    case .value, .target, .joined, .left, .cleared, .order, .original: break
    }
    // It may have become a fault since, or have gone.
    guard object.source === self else { return }
    if object.isFault { fire(object) }
    guard !object.isFault, !object.isGivenUp else { return }
    switch step {
    case .value(_, let property, let value, let isFirst):
      takeBackValue(of: object, property, value, isFirst)
    case .target(_, let property, let target, let isFirst):
      if !isFirst, let target, target.source !== self { undoLog?.wait(for: target, step) }
      takeBackTarget(of: object, property, target, isFirst)
    case .joined(_, let property, let member):
      if isMember(member, object, property) { drop(member, from: object, property) }
    case .left(_, let property, let member, let position):
      guard member.source === self else { undoLog?.wait(for: member, step); return }
      guard leads(member, to: object, property) else {
        undoLog?.postpone(step)
        return
      }
      addAgain(member, object, property, position)
    case .cleared(_, let property, let members): fill(object, property, members)
    case .order(_, let property, let members): takeBackOrder(of: object, property, members)
    case .original(_, let property): takeBackToOriginal(object, property)
    case .insertion, .deletion: break
    }
  }

  /// Takes back that a member left, if it refers to the object now that its own step is taken back.
  private func take(postponed step: UndoLog.Step) {
    guard case .left(let object, let property, let member, let position) = step,
      object.source === self, !object.isFault
    else { return }
    if leads(member, to: object, property) {
      addAgain(member, object, property, position)
    } else {
      forgetLeaving(member, object, property)
    }
  }

  private func takeBackValue(
    of object: ManagedObject, _ property: PropertyDescription, _ value: StoredValue, _ isFirst: Bool
  ) {
    let original = object.changes?.originals[property.slot]
    willChange(object, property)
    // Read again without the change, it has the value of its row already.
    if let value = isFirst ? original : value { try? object.setStoredValue(value, property) }
    settle(object, property)
    object.tellIfObserved(property)
  }

  private func takeBackTarget(
    of object: ManagedObject, _ property: PropertyDescription, _ target: ManagedObject?,
    _ isFirst: Bool
  ) {
    let known = target
    var target = target
    if isFirst {
      switch object.changes?.originals[property.slot] {
      case .integer(let bits): target = self.object(ObjectNumber(bits: bits))
      case .some: target = nil
      // Read again without the change, it leads where its row does already.
      case .none: target = toOneTarget(of: object, property)
      }
    }
    // One that is gone cannot be referred to again.
    if target?.source !== self { target = nil }
    let before = toOneTarget(of: object, property)
    setToOne(object, property, target)
    settle(object, property)
    guard let inverse = object.entityDescription?.inverses[property.slot]?.property else { return }
    // Others may have moved it since, and no recorded step is about the owner it has then.
    if let before, before !== target { leave(object, before, inverse) }
    guard isFirst, known !== target else { return }
    if let known, known !== target { leave(object, known, inverse) }
    if let target { join(object, target, inverse) }
  }

  /// Has an object leave one side of a relationship, if it is there.
  private func leave(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    guard object.source === self else { return }
    if object.isFault { fire(object) }
    guard !object.isFault, !object.isGivenUp else { return }
    if !property.isReference {
      if isMember(member, object, property) { drop(member, from: object, property) }
    } else if toOneTarget(of: object, property) === member {
      setToOne(object, property, nil)
      settle(object, property)
    }
  }

  /// Has an object join one side of a relationship, unless it is there.
  private func join(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    guard property.isReference else { return addAgain(member, object, property, nil) }
    guard toOneTarget(of: object, property) !== member else { return }
    setToOne(object, property, member)
    settle(object, property)
  }

  /// Whether a member, if it refers to one object only and as its row does, refers to this one.
  private func leads(
    _ member: ManagedObject, to object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard undoLog?.isUndoing == true,
      let inverse = object.entityDescription?.inverses[property.slot]?.property,
      inverse.isReference, !member.isInserted, member.changes?.originals[inverse.slot] == nil
    else { return true }
    return toOneTarget(of: member, inverse) === object
  }

  /// Forgets that a member left that others have moved since.
  private func forgetLeaving(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) {
    guard object.changes?.members[property.slot]?.removed.contains(member) == true else { return }
    noteMembers(of: object, property) { $0.join(member) }
    settleMembers(of: object, property)
  }

  /// Whether somebody is a member, as it may be otherwise if the members were read again.
  private func isMember(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    if !object.hasMembers(property) { _ = loadedMembers(of: object, property) }
    return object.containsMember(member, property)
  }

  private func addAgain(
    _ member: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription,
    _ position: UndoLog.Position?
  ) {
    guard member.source === self, !isMember(member, object, property) else { return }
    let index = position.map { self.index(behind: $0, object, property) }
    add(member, to: object, property, at: index)
  }

  /// The index for a member that comes back, behind the one it followed: others may have joined.
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

  /// Gives back the members of a relationship that lost all of them.
  private func fill(
    _ object: ManagedObject, _ property: PropertyDescription, _ members: [ManagedObject]
  ) {
    guard loadedMembers(of: object, property).isEmpty else {
      for member in members { addAgain(member, object, property, nil) }
      return
    }
    noteMembers(of: object, property) { change in
      for member in members { change.join(member) }
    }
    for member in members { undoLog?.record(.joined(object, property, member)) }
    object.setMembers(members, property)
    settleMembers(of: object, property)
    object.tellIfObserved(property)
  }

  /// Puts members in the order they had; those that a merge has brought stay behind the members
  /// that they follow.
  private func takeBackOrder(
    of object: ManagedObject, _ property: PropertyDescription, _ members: [ManagedObject]
  ) {
    let present = loadedMembers(of: object, property)
    let numbers = present.map(\.number)
    let order = ListMerge(
      base: nil, theirs: numbers, mine: members.map(\.number), prefersMine: true)
    reorder(object, property, order.merged(numbers).compactMap { self.object($0) })
  }

  /// Puts members in the order of the row, which may be another than when they were changed first.
  private func takeBackToOriginal(_ object: ManagedObject, _ property: PropertyDescription) {
    guard let changes = object.changes?.members[property.slot], changes.hasSameMembers,
      let base = changes.base
    else { return }
    reorder(object, property, base)
  }

  /// Forgets that a property was set, if it is again as its row is.
  func settle(_ object: ManagedObject, _ property: PropertyDescription) {
    guard let changes = object.changes, !object.isInserted,
      let original = changes.originals[property.slot],
      (try? object.storedValue(property))?.isIdentical(to: original) == true
    else { return }
    changes.originals[property.slot] = nil
    settle(object)
  }

  /// Takes back that an object was inserted.
  private func withdraw(_ object: ManagedObject) {
    undoLog?.record(.deletion(object))
    inserted.remove(object)
    tell(\.deleted, object)
    abandon(object)
  }

  /// Takes back that an object left, which was never saved.
  private func restore(_ object: ManagedObject) {
    undoLog?.record(.insertion(object))
    let assigned = object.changes?.assigned ?? SlotSet()
    object.changes = nil
    if !assigned.isEmpty { object.ownChanges.assigned = assigned }
    object.state.insert(.inserted)
    object.setHelp(.writing)
    // Somebody may have asked for it while it was gone.
    dismissFault(object.number)
    register(object, object.number)
    inserted.insert(object)
    tell(\.inserted, object)
  }
}
