/// What becomes of objects when a save has been committed.
extension ManagedObjectContext {
  /// Has the objects show what the commit has stored, once they have their permanent numbers;
  /// returns those that were saved.
  func finish(_ request: SaveRequest) -> [ManagedObject] {
    var saved: [ManagedObject] = []
    for (object, outcome) in request.outcomes {
      switch outcome {
      case .saved: saved.append(object)
      case .unchanged:
        object.state.remove(.updated)
        // It may still refer to a new object that was deleted.
        takeBackChanges(of: object)
        saved.append(object)
      case .dropped:
        object.state.subtract([.updated, .deleted])
        turnIntoFault(object)
      case .deleted: saved.append(object)
      }
    }
    let isOther = request.isContested || !request.changes.replaced.isEmpty
    for change in request.changes.list where !change.isDeleted {
      guard let object = registered[change.number]?.takeUnretainedValue() else { continue }
      if change.isOfObject {
        finish(object, change, request.base, readsMembers: isOther)
      } else {
        refresh(object, change, request.base)
      }
    }
    refreshBelow(Set(request.changes.replaced.values.map { request.changes.resolved($0) }))
    finishDeletions(request)
    showHiddenMembers()
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    tellFollowersOfAll()
    return saved
  }

  /// Gives new objects their permanent numbers; returns those whose row another object has.
  func renumberInserted(_ request: SaveRequest) -> [Leaver] {
    inserted.all.flatMap { renumber($0, request.number(of: $0)) }
  }

  /// Has child contexts read rows again that their new objects have become.
  private func refreshBelow(_ numbers: Set<ObjectNumber>) {
    guard !numbers.isEmpty else { return }
    for context in children.compactMap(\.context) {
      for number in numbers {
        guard let object = context.registered[number]?.takeUnretainedValue(), !object.hasChanges,
          !object.isFault
        else { continue }
        context.turnIntoFault(object)
        context.tell(\.refreshed, object)
      }
      context.refreshBelow(numbers)
    }
  }

  /// Makes a saved object what its row is.
  private func finish(
    _ object: ManagedObject, _ change: RowChange, _ base: UInt64, readsMembers: Bool
  ) {
    if object.isFault { return }
    object.version = change.isEffective && !change.isDerivedOnly ? base : change.version
    object.state.subtract([.inserted, .updated])
    object.changes = nil
    if change.isAdjusted {
      take(change.after, object)
    } else {
      showDerived(change, object)
    }
    // Others may have joined, and edits may have given way.
    if readsMembers || change.isAdjusted { forgetMembers(of: object, change.storage.entity) }
    object.setHelp(.writing)
  }

  /// Has an object that was not saved itself show what the save has made of its row.
  private func refresh(_ object: ManagedObject, _ change: RowChange, _ base: UInt64) {
    guard !object.isFault, !object.isInserted, change.isEffective else { return }
    if change.isDerivedOnly { return showDerived(change, object) }
    object.changes = nil
    object.state.remove(.updated)
    turnIntoFault(object)
    tell(\.refreshed, object)
  }

  private func showDerived(_ change: RowChange, _ object: ManagedObject) {
    let derived = change.storage.entity.derived
    guard !derived.isEmpty else { return }
    for attribute in derived {
      try? object.setStoredValue(change.after[attribute.slot], attribute.property)
    }
    observer?.note(object)
  }

  /// Gives an object the values of its row, where it has others.
  private func take(_ values: [StoredValue], _ object: ManagedObject) {
    for property in object.entityDescription?.columns ?? [] {
      let value = values[property.slot]
      // What it is related to stays in memory.
      if let mine = try? object.storedValue(property), mine.isIdentical(to: value) { continue }
      try? object.setStoredValue(value, property)
    }
    observer?.note(object)
  }

  // MARK: Deletions

  /// Ends the time of objects whose rows are gone, those included that the context has not deleted.
  private func finishDeletions(_ request: SaveRequest) {
    for (object, outcome) in request.outcomes where outcome == .deleted { forgetDeleted(object) }
    for change in request.changes.list where change.isDeleted {
      guard let object = registered[change.number]?.takeUnretainedValue() else { continue }
      tell(\.deleted, object)
      forgetDeleted(object)
    }
  }

  func forgetDeleted(_ object: ManagedObject) {
    object.state.subtract([.registered, .updated])
    object.state.insert(.deleted)
    watched.remove(object)
    // What it was can still be looked at, in didSave for one.
    object.help = []
    object.releaseRelated()
    leave(object)
  }

  /// The changes that a save has made of this context's objects, under the IDs they have now.
  func didSave(_ request: SaveRequest, _ generation: Generation) -> ContextChange {
    var change = ContextChange(kind: .didSave)
    for (object, outcome) in request.outcomes {
      let id = ManagedObjectID(object.number, model.space)
      switch outcome {
      case .deleted: change.deleted.insert(id)
      case .saved:
        if request.isNew(object.number) {
          change.inserted.insert(id)
        } else {
          change.updated.insert(id)
        }
      case .unchanged, .dropped: break
      }
    }
    for row in request.changes.list where row.isEffective {
      let id = ManagedObjectID(row.number, model.space)
      if row.isDeleted {
        change.deleted.insert(id)
      } else if !row.isDerivedOnly, !change.inserted.contains(id) {
        change.updated.insert(id)
      }
    }
    // If it is over already, nobody can be pinned to it.
    change.generation = token(of: generation)
    return change
  }
}
