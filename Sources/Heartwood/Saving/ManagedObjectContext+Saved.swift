// This extension updates objects after a save has been committed.
extension ManagedObjectContext {
  /// Updates this context's objects to match the committed rows.
  ///
  /// - Precondition: ``renumberInserted(_:)`` has assigned permanent numbers to the new objects.
  func finish(_ request: SaveRequest) {
    let hasChildren = children.contains { $0.context != nil }
    for (object, outcome) in request.outcomes {
      switch outcome {
      case .saved, .deleted: break
      case .inserted, .updated:
        if hasChildren {
          updateDescendants(object.number, replacing: object.version, with: request.base)
        }
        finish(object, version: request.base)
      case .unchanged:
        object.state.remove(.updated)
        // Discard edits that changed nothing in the row, such as a reference to a new object that
        // was deleted before the save.
        revertChanges(of: object)
      case .dropped:
        object.state.subtract([.updated, .deleted])
        turnIntoFault(object)
      }
    }
    // Check whether delete rules have deleted objects that this context has loaded. Such objects
    // may still be members of edited objects, whose members must then be read again.
    let deletesOthers =
      !request.changes.deletions.isEmpty
      && request.changes.list.contains {
        $0.isDeleted && registered[$0.number]?.takeUnretainedValue().isDeleted == false
      }
    let isOther = request.isContested || !request.changes.replaced.isEmpty || deletesOthers
    for change in request.changes.list where !change.isDeleted {
      if hasChildren, change.isEffective, !change.isDerivedOnly {
        updateDescendants(change.number, replacing: change.version, with: request.base)
      }
      guard let object = registered[change.number]?.takeUnretainedValue() else { continue }
      if change.isOfObject {
        finish(object, change, request.base, readsMembers: isOther)
      } else {
        refresh(object, change, request.base)
      }
    }
    refreshChildren(Set(request.changes.replaced.values.map { request.changes.resolved($0) }))
    finishDeletions(request)
    showHiddenMembers()
    inserted.removeAll()
    updated.removeAll()
    deleted.removeAll()
    watched.removeAll()
    notifyFollowersOfAllObjects()
  }

  /// Assigns permanent numbers to new objects.
  ///
  /// - Returns: The new objects that were merged into rows for which this context already has an
  ///   object.
  func renumberInserted(_ request: SaveRequest) -> [ReplacedObject] {
    var replacedObjects: [ReplacedObject] = []
    for object in inserted {
      let replaced = renumber(object, request.number(of: object))
      if !replaced.isEmpty { replacedObjects += replaced }
    }
    return replacedObjects
  }

  /// Refreshes the objects of the given rows in all descendants of this context.
  ///
  /// The save has merged new objects into these rows. Objects with unsaved changes are not
  /// refreshed.
  private func refreshChildren(_ numbers: Set<ObjectNumber>) {
    guard !numbers.isEmpty else { return }
    for context in children.compactMap(\.context) {
      for number in numbers {
        guard let object = context.registered[number]?.takeUnretainedValue(), !object.hasChanges,
          !object.isFault
        else { continue }
        context.turnIntoFault(object)
        context.notifyObservers(of: object, as: \.refreshed)
      }
      context.refreshChildren(numbers)
    }
  }

  /// Updates a saved object to match its row.
  private func finish(
    _ object: ManagedObject, _ change: RowChange, _ base: UInt64, readsMembers: Bool
  ) {
    guard !object.isFault else {
      // Clear the edits, because they have been saved. A fault can have edits only if its row could
      // not be found when the edits were made.
      object.state.remove(.updated)
      object.changes = nil
      return
    }
    finish(object, version: change.isEffective && !change.isDerivedOnly ? base : change.version)
    if change.isAdjusted {
      apply(change.after, to: object)
    } else {
      showDerived(change, object)
    }
    // Forget the loaded members, because other contexts may have added members, or this context's
    // edits may have been overridden in a conflict.
    if readsMembers || change.isAdjusted { forgetMembers(of: object, change.storage.entity) }
  }

  private func finish(_ object: ManagedObject, version: UInt64) {
    object.version = version
    object.state.subtract([.inserted, .updated])
    object.changes = nil
    object.setHooks(.writing)
    if object.state.contains(.membersMayBeStale), let entity = object.entityDescription {
      forgetMembers(of: object, entity)
    }
  }

  /// Refreshes an object that was not saved itself but whose row was changed by the save.
  private func refresh(_ object: ManagedObject, _ change: RowChange, _ base: UInt64) {
    guard !object.isFault, !object.isInserted, change.isEffective else { return }
    if change.isDerivedOnly { return showDerived(change, object) }
    object.changes = nil
    object.state.remove(.updated)
    turnIntoFault(object)
    notifyObservers(of: object, as: \.refreshed)
  }

  private func showDerived(_ change: RowChange, _ object: ManagedObject) {
    let derived = change.storage.entity.derived
    guard !derived.isEmpty else { return }
    for attribute in derived {
      try? object.setStoredValue(change.after[attribute.slot], attribute.property)
    }
    observer?.recordChange(of: object)
  }

  /// Updates each property whose value differs from the value in the object's row.
  private func apply(_ values: [StoredValue], to object: ManagedObject) {
    for property in object.entityDescription?.columns ?? [] {
      let value = values[property.slot]
      // Skip unchanged values, because setting even an unchanged reference could release the
      // related object from memory.
      if let mine = try? object.storedValue(property), mine.isIdentical(to: value) { continue }
      try? object.setStoredValue(value, property)
    }
    observer?.recordChange(of: object)
  }

  // MARK: Deletions

  /// Removes from the context all objects whose rows no longer exist.
  ///
  /// The save deleted the rows directly or through delete rules, or found that the rows were
  /// already deleted.
  private func finishDeletions(_ request: SaveRequest) {
    for (object, outcome) in request.outcomes where outcome == .deleted { forgetDeleted(object) }
    for change in request.changes.list where change.isDeleted {
      guard let object = registered[change.number]?.takeUnretainedValue() else { continue }
      notifyObservers(of: object, as: \.deleted)
      forgetDeleted(object)
    }
  }

  func forgetDeleted(_ object: ManagedObject) {
    object.state.subtract([.registered, .updated])
    object.state.insert(.deleted)
    watched.remove(object)
    // Keep the attribute values readable, because code such as `didSave` may still read them.
    object.hooks = []
    object.releaseRelated()
    leave(object)
  }

  /// Returns a change that lists the permanent IDs of the objects that a save inserted, updated or
  /// deleted.
  func didSave(_ request: SaveRequest, _ generation: Generation) -> ContextChange {
    var change = ContextChange(kind: .didSave)
    for (object, outcome) in request.outcomes {
      let id = ManagedObjectID(object.number, model.space)
      switch outcome {
      case .deleted: change.deleted.insert(id)
      case .inserted: change.inserted.insert(id)
      case .updated: change.updated.insert(id)
      case .saved:
        if request.isNew(object.number) {
          change.inserted.insert(id)
        } else {
          change.updated.insert(id)
        }
      case .unchanged, .dropped: break
      }
    }
    for row in request.changes.list where row.isEffective || row.isDeleted {
      let id = ManagedObjectID(row.number, model.space)
      if row.isDeleted {
        change.deleted.insert(id)
      } else if row.isDerivedOnly {
        change.derived.insert(id)
      } else if !change.inserted.contains(id) {
        change.updated.insert(id)
      }
    }
    // If the generation no longer exists, contexts cannot be pinned to it, so the token is `nil`.
    change.generation = token(of: generation)
    return change
  }
}
