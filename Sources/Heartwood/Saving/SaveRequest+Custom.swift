/// Conflict resolution with a custom merge policy.
extension SaveRequest {
  /// Lets a custom merge policy resolve a conflict over an object that this context has changed.
  ///
  /// The values and references set by the policy are recorded in `after` and `edited`.
  ///
  /// - Returns: `false` if the policy decides to delete the object; otherwise, `true`.
  func resolve(
    _ object: ManagedObject, _ edits: [Int: StoredValue], _ mine: [StoredValue],
    _ theirs: [StoredValue]?, _ after: inout [StoredValue], _ edited: inout SlotSet
  ) throws -> Bool {
    guard let resolve = policy.resolve else { return true }
    var base = mine
    for (slot, value) in edits { base[slot] = value }
    var conflict = conflict(object, base: base, mine: mine, theirs: theirs)
    try resolve(&conflict)
    try apply(conflict, object, &after, &edited)
    return !conflict.isDeleted
  }

  /// Lets a custom policy decide whether to keep an object that this context has deleted and
  /// another context has changed.
  ///
  /// Returns `false` if the policy confirms the deletion, or if the merge policy is not custom.
  func keeps(
    _ object: ManagedObject, base: [StoredValue], theirs: [StoredValue]
  ) throws -> Bool {
    guard let resolve = policy.resolve else { return false }
    var conflict = conflict(object, base: base, mine: nil, theirs: theirs)
    conflict.isDeleted = true
    try resolve(&conflict)
    return !conflict.isDeleted
  }

  private func conflict(
    _ object: ManagedObject, base: [StoredValue], mine: [StoredValue]?, theirs: [StoredValue]?
  ) -> MergeConflict {
    let entity = entity(object)
    func attributes(_ values: [StoredValue]) -> [String: StoredValue] {
      let named = entity.columns.filter(\.isAttribute).map { ($0.name, values[$0.slot]) }
      return Dictionary(uniqueKeysWithValues: named)
    }
    func references(_ values: [StoredValue]) -> [String: ManagedObjectID] {
      let named = entity.columns.filter(\.isReference).compactMap { property in
        values[property.slot].reference.map { (property.name, ManagedObjectID($0, model.space)) }
      }
      return Dictionary(uniqueKeysWithValues: named)
    }
    return MergeConflict(
      objectID: id(object), entityName: entity.name,
      base: attributes(base), mine: mine.map(attributes) ?? [:], theirs: theirs.map(attributes),
      baseReferences: references(base), myReferences: mine.map(references) ?? [:],
      theirReferences: theirs.map(references), isDeletedHere: mine == nil)
  }

  /// Updates `after` and `edited` with the values and references set by the policy.
  private func apply(
    _ conflict: MergeConflict, _ object: ManagedObject, _ after: inout [StoredValue],
    _ edited: inout SlotSet
  ) throws {
    let entity = entity(object)
    for (name, value) in conflict.result {
      guard let property = entity.columns.first(where: { $0.isAttribute && $0.name == name })
      else {
        throw ObjectGraphError(
          .unknownProperty,
          "The merge policy set the attribute \(name), but \(entity.name) has no such attribute. "
            + "Use the name of a stored attribute.")
      }
      after[property.slot] = try checked(value, property, object)
    }
    for (name, id) in conflict.resultReferences {
      guard let property = entity.columns.first(where: { $0.isReference && $0.name == name })
      else {
        throw ObjectGraphError(
          .unknownProperty,
          "The merge policy set the to-one relationship \(name), but \(entity.name) has no such "
            + "relationship. Use the name of a to-one relationship.")
      }
      if let id { try requireTarget(id, property, object) }
      let number = id.map { self.number(of: $0.number) }
      after[property.slot] = number.map { .integer($0.bits) } ?? .null
      edited.insert(property.slot)
    }
  }

  /// Returns the stored representation of an attribute value set by the policy.
  ///
  /// - Throws: `validation` if the value is not valid for the attribute.
  private func checked(
    _ value: StoredValue, _ property: PropertyDescription, _ object: ManagedObject
  ) throws -> StoredValue {
    do {
      let scratch = type(of: object).init()
      try scratch.setStoredValue(value, property)
      return try scratch.storedValue(property)
    } catch {
      throw refusal(
        property, object,
        "The attribute cannot store \(value). Use a value of the attribute's type.")
    }
  }

  /// Checks that a relationship may refer to the object set by the policy.
  ///
  /// - Throws: `validation` if the object is of an unsuitable class or belongs to another store.
  private func requireTarget(
    _ id: ManagedObjectID, _ property: PropertyDescription, _ object: ManagedObject
  ) throws {
    let destination = model.schema.destination(of: property)
    guard context.isOwn(id), let target = model.storage(of: number(of: id.number))?.entity,
      let destination, target.isKind(of: destination)
    else {
      throw refusal(
        property, object,
        "The relationship cannot refer to \(id). Use an object of the destination class that is in "
          + "the same store.")
    }
  }

  private func refusal(
    _ property: PropertyDescription, _ object: ManagedObject, _ reason: String
  ) -> ObjectGraphError {
    ObjectGraphError(
      .validation,
      "The merge policy set an invalid value for \(entity(object).name).\(property.name). "
        + "\(reason)",
      objectID: id(object))
  }
}
