/// Methods that delete rows, and change or delete related rows according to the delete rules.
extension RowChanges {
  /// A row to delete, and the objects that were removed from the row's relationships beforehand.
  struct Deletion {
    let change: RowChange
    /// The original targets of the references that were edited before the deletion, keyed by slot.
    ///
    /// A value is `nil` if the reference originally had no target.
    var references: [Int: ObjectNumber?] = [:]
    /// The removed members, keyed by slot.
    var removed: [Int: Set<ObjectNumber>] = [:]
    /// A Boolean value that indicates whether delete rules apply.
    var followsRules = true
    /// A closure that returns whether delete rules ignore a related object, or `nil` if delete
    /// rules apply to all related objects.
    ///
    /// Delete rules ignore objects that the caller handles itself. The closure is also used for
    /// deletions that follow from this one.
    var isExempt: ((ObjectNumber) throws -> Bool)?
    /// A Boolean value that indicates whether the save has already reported that objects in memory
    /// prevent the deletion.
    var isDenied = false
  }

  /// An error to report if any of the rows in `others` still exists after all deletions.
  struct Denial {
    let error: ObjectGraphError
    let others: [ObjectNumber]
  }

  /// Adds the deletion of a row to the changes.
  func delete(_ deletion: Deletion) {
    deletion.change.isDeleted = true
    if known(deletion.change.number) == nil { add(deletion.change) }
    deletions.append(deletion)
  }

  /// Adds the deletion of a row to the changes if the row still exists.
  ///
  /// - Parameter isExempt: The ``Deletion/isExempt`` closure of the deletion.
  func delete(
    _ number: ObjectNumber, isExempt: ((ObjectNumber) throws -> Bool)? = nil
  ) throws {
    if let change = try change(of: number) {
      delete(Deletion(change: change, isExempt: isExempt))
    }
  }

  /// Deletes the rows, applies the delete rules to the related rows, and reports each deletion
  /// denied by a rule.
  func performDeletions() throws {
    var position = 0
    while position < deletions.count {
      try perform(deletions[position])
      position += 1
    }
    for denial in denials where try denial.others.contains(where: { try exists($0) }) {
      report(denial.error)
    }
    denials = []
  }

  private func perform(_ deletion: Deletion) throws {
    let (number, storage) = (deletion.change.number, deletion.change.storage)
    guard let before = deletion.change.before else { return }
    for property in storage.entity.relationships {
      let rule = property.options.deleteRule ?? .nullify
      guard rule != .noAction else { continue }
      let others = try related(number, storage, property, before)
      if deletion.followsRules, rule != .nullify {
        let kept = try others.filter { other in
          try !hasReleased(other, property, deletion) && deletion.isExempt?(other) != true
        }
        if rule == .deny {
          guard !deletion.isDenied else { continue }
          denials.append(
            Denial(error: storage.entity.denial(property, of: id(number)), others: kept))
        } else {
          for other in kept where !protectedRows.contains(other) {
            try delete(other, isExempt: deletion.isExempt)
          }
        }
      }
      guard let inverse = storage.entity.inverses[property.slot] else { continue }
      for other in others { try forget(number, at: other, inverse.property) }
    }
    try derived.markDependents(of: number, storage.entity, before: before, after: nil)
    try rows.delete(number, storage, before)
  }

  /// Returns whether this save has already ended the relationship between `other` and the deleted
  /// row, so that the delete rules ignore `other`.
  ///
  /// The relationship has ended if `other` was removed from it before the deletion, or if the
  /// inverse reference of `other` has a different target after the save. However, the relationship
  /// has not ended if a conflict overrode the deletion of `other` or an edit to its inverse
  /// reference.
  private func hasReleased(
    _ other: ObjectNumber, _ property: PropertyDescription, _ deletion: Deletion
  ) -> Bool {
    if protectedRows.contains(other) { return false }
    if let inverse = deletion.change.storage.entity.inverses[property.slot]?.property {
      if hasLostEdit(other, inverse.slot) { return false }
      let number = deletion.change.number
      if inverse.isReference, let change = known(other), change.target(inverse.slot) != number {
        return true
      }
    }
    if let removed = deletion.removed[property.slot] { return removed.contains(other) }
    return deletion.references[property.slot].map { $0 == other } ?? false
  }

  /// Returns the stored targets of a row's relationship.
  private func related(
    _ number: ObjectNumber, _ storage: EntityStorage, _ property: PropertyDescription,
    _ values: [StoredValue]
  ) throws -> [ObjectNumber] {
    if case .toOne = property.kind { return values[property.slot].reference.map { [$0] } ?? [] }
    return try rows.numbers(
      in: model.memberKeyspace(property, of: storage.entity), of: number)
  }

  /// Removes the deleted row `number` from the relationship `property` of the object `other`.
  private func forget(
    _ number: ObjectNumber, at other: ObjectNumber, _ property: PropertyDescription
  ) throws {
    guard let change = try change(of: other) else { return }
    guard case .toMany(let isOrdered) = property.kind else {
      if change.target(property.slot) == number { change.redirect(property.slot, to: nil) }
      return
    }
    if isOrdered {
      lists.remove(other, property.slot, number)
    } else {
      change.touched.insert(property.slot)
      if model.listsMembers(property, of: change.storage.entity) {
        let keyspace = model.memberKeyspace(property, of: change.storage.entity)
        try rows.changeEdges(keyspace, other, [number], areAdded: false)
      }
    }
    derived.mark(other)
  }
}

extension EntityDescription {
  /// Returns the error for an object that cannot be deleted because the relationship `property` is
  /// not empty.
  func denial(_ property: PropertyDescription, of id: ManagedObjectID) -> ObjectGraphError {
    var denial = ObjectGraphError(
      .deniedDelete,
      "This \(name) cannot be deleted while its \(property.name) relationship is not empty. "
        + "Delete the related objects, or remove them from the relationship.",
      property: property.name,
      objectID: id)
    denial.entityName = name
    return denial
  }
}
