/// The relationships of deleted objects, as stored in one generation.
struct StoredRelations {
  /// The generation that contains the relationships, or `nil` if nothing has been read from the
  /// store.
  var generation: Generation?
  /// The numbers of the related objects, keyed by the number of the deleted object.
  var related: [ObjectNumber: [ObjectNumber]] = [:]
}

/// Methods that hide deleted objects from relationships until the deletions have been saved.
extension ManagedObjectContext {
  /// Returns the unchanged objects whose stored relationships still contain an object that this
  /// context has deleted.
  ///
  /// In memory, the relationships of the returned objects omit the deleted object. Predicates must
  /// therefore be evaluated on the returned objects instead of their rows. The returned objects are
  /// up to date with their rows.
  ///
  /// - Complexity: O(deleted objects). The relationships of each deleted object are read once for
  ///   each generation.
  func objectsHidingDeletedObjects() throws -> [ObjectNumber: ManagedObject] {
    guard !deleted.isEmpty else { return [:] }
    let view = parent == nil ? try currentView() : nil
    if storedRelations.generation != view?.snapshot?.generation || view == nil {
      storedRelations = StoredRelations(generation: view?.snapshot?.generation)
    }
    var result: [ObjectNumber: ManagedObject] = [:]
    for object in deleted.all {
      for number in try storedRelations(of: object, view) where result[number] == nil {
        if registered[number]?.takeUnretainedValue().hasChanges == true { continue }
        guard let view else {
          result[number] = self.object(number)
          continue
        }
        guard let storage = model.storage(of: number) else { continue }
        result[number] =
          try view.withRecord(number, storage) {
            try materialize(number, storage, $0)
          } ?? nil
      }
    }
    return result
  }

  /// Returns the numbers of the objects related to a deleted object.
  private func storedRelations(
    of object: ManagedObject, _ view: StoreView?
  ) throws -> [ObjectNumber] {
    if let known = storedRelations.related[object.number] { return known }
    let numbers = try readRelations(of: object, view)
    storedRelations.related[object.number] = numbers
    return numbers
  }

  /// Reads the numbers of the objects related to a deleted object from the store and, in a child
  /// context, from all its ancestors.
  ///
  /// An ancestor may have read the relationships before other contexts changed them.
  private func readRelations(
    of object: ManagedObject, _ view: StoreView?
  ) throws -> [ObjectNumber] {
    let original = parent?.relatableObject(object.number)
    guard parent == nil || original != nil else { return [] }
    var numbers: [ObjectNumber] = []
    for property in object.entityDescription?.relationships ?? []
    where hidesDeletedObjects(inverseOf: property) {
      numbers +=
        property.isReference
        ? try storedTarget(of: object, property, view) : try storedMembers(of: object, property)
    }
    if let parent, let original {
      let view = parent.parent == nil ? try parent.currentView() : nil
      numbers += try parent.readRelations(of: original, view)
    }
    return numbers
  }

  /// Hides a deleted object from relationships that refer to it although its own values do not.
  ///
  /// The delete rules do not clear such a relationship. Another context or the parent has added the
  /// object to it, and the relationship was loaded later than the object.
  ///
  /// - Complexity: One row read. If the row is newer than the object, and in a child context,
  ///   O(related objects).
  func hideFromNewerRelationships(_ object: ManagedObject) {
    guard let numbers = try? newerRelations(of: object) else { return }
    for number in numbers {
      guard let other = registeredObject(number), !other.isFault, !other.isDeleted else { continue }
      for property in other.entityDescription?.relationships ?? []
      where forgets(object, other, property) {
        hide(object, in: other, property)
      }
    }
  }

  private func hide(
    _ object: ManagedObject, in other: ManagedObject, _ property: PropertyDescription
  ) {
    if property.isReference {
      guard case .object(object) = other.target(property) else { return }
      // Keep the number, so that the object becomes visible again if its deletion is reverted.
      other.setTarget(.number(object.number.bits), property)
    } else {
      guard other.hasMembers(property), other.containsMember(object, property) else { return }
      _ = other.removeMember(object, property, at: nil)
    }
    hidingMembers.insert(other.number)
    notifyObservers(of: other, as: \.refreshed)
    other.notifyIfObserved(property)
  }

  /// Returns the numbers of the related objects that ``readRelations(of:_:)`` finds, or an empty
  /// array if the object is as new as its row.
  private func newerRelations(of object: ManagedObject) throws -> [ObjectNumber] {
    guard parent == nil else { return try readRelations(of: object, nil) }
    guard let storage = model.storage(of: object.number) else { return [] }
    let view = try currentView()
    let version = try view.withRecord(object.number, storage) { $0.version }
    guard let version, version != object.version else { return [] }
    return try readRelations(of: object, view)
  }

  /// Returns the number of the target that a to-one relationship has in the store or in the parent.
  ///
  /// The returned array contains one number, or is empty if there is no target.
  private func storedTarget(
    of object: ManagedObject, _ property: PropertyDescription, _ view: StoreView?
  ) throws -> [ObjectNumber] {
    if let parent {
      return parent.object(object.number).map { parent.related(to: $0, property).map(\.number) }
        ?? []
    }
    guard let view, let storage = model.storage(of: object.number) else { return [] }
    let target = try view.withRecord(object.number, storage) {
      try storage.value(property.slot, $0)
    }
    return target?.reference.map { [$0] } ?? []
  }

  /// Returns whether a relationship of `object` must omit `other` because `other` was deleted in
  /// this context.
  ///
  /// The deleted object can still be among the stored members, because another context may have
  /// added it in the meantime.
  func forgets(
    _ other: ManagedObject, _ object: ManagedObject, _ property: PropertyDescription
  ) -> Bool {
    guard other.isDeleted,
      let inverse = object.entityDescription?.inverses[property.slot]?.property
    else { return false }
    return hidesDeletedObjects(inverseOf: inverse)
  }

  /// Returns whether the delete rule of `property` requires the inverse relationship to omit
  /// objects that were deleted in this context.
  private func hidesDeletedObjects(inverseOf property: PropertyDescription) -> Bool {
    switch property.options.deleteRule ?? .nullify {
    case .nullify, .cascade: true
    case .deny, .noAction: false
    }
  }

  /// Discards the loaded member lists that omit objects deleted in this context, so that the next
  /// use loads the complete lists.
  func showHiddenMembers() {
    for number in hidingMembers {
      guard let object = registeredObject(number), let entity = object.entityDescription else {
        continue
      }
      forgetMembers(of: object, entity)
      for property in entity.relationships where property.isOrdered {
        showHiddenMembers(of: object, property)
      }
    }
    hidingMembers = []
  }

  /// Restores the stored members that were hidden from an edited list.
  private func showHiddenMembers(of object: ManagedObject, _ property: PropertyDescription) {
    guard let edit = object.changes?.members[property.slot], let base = edit.base,
      let mine = object.members(property)
    else { return }
    let theirs = base.map(\.number)
    let merge = ListMerge(base: nil, theirs: theirs, mine: mine.map(\.number), prefersMine: true)
    let shown = base.filter { !edit.removed.contains($0) && !forgets($0, object, property) } + mine
    let numbers = merge.merged(shown.map(\.number))
    object.setMembers(numbers.compactMap { self.object($0) }, property)
  }
}
