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
          object.setHelp(newValue || part.isFollowed ? .writing : [])
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
    undoLog.end()
    processPendingChanges()
  }

  private func take(back step: UndoLog.Step) {
    switch step {
    case .value(let object, let property, let value):
      willChange(object, property)
      try? object.setStoredValue(value, property)
      settle(object, property)
    case .target(let object, let property, let target):
      setToOne(object, property, target)
      settle(object, property)
    case .joined(let object, let property, let member): drop(member, from: object, property)
    case .left(let object, let property, let member): add(member, to: object, property)
    case .order(let object, let property, let members): reorder(object, property, members)
    case .insertion(let object):
      if object.isInserted { withdraw(object) } else { markDeleted(object) }
    case .deletion(let object):
      if object.source === self { revive(object) } else { restore(object) }
    }
  }

  /// Forgets that an attribute was set, if it is again as its row is.
  private func settle(_ object: ManagedObject, _ property: PropertyDescription) {
    guard let changes = object.changes, !object.isInserted,
      changes.originals[property.slot] == (try? object.storedValue(property))
    else { return }
    changes.originals[property.slot] = nil
    guard changes.isEmpty else { return }
    object.state.remove(.updated)
    updated.remove(object)
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
    object.state.insert(.inserted)
    object.changes = nil
    object.setHelp(.writing)
    // Somebody may have asked for it while it was gone.
    dismissFault(object.number)
    register(object, object.number)
    inserted.insert(object)
    tell(\.inserted, object)
  }
}
