/// Methods that undo deletions which have already been saved.
extension ManagedObjectContext {
  /// Reinserts an object whose deletion was saved, and restores the object's former values.
  func insertAgain(_ object: ManagedObject) {
    // Clear the references first, so that setting them to the object's new ID is recorded as an
    // edit.
    let references = remainingReferences(to: object)
    // Point each reference at the deleted object, so that the undo log records that object. The
    // reference may contain only the object's number, or an object that was read after the deletion
    // and has the same number.
    for (referring, property) in references { referring.setTarget(.object(object), property) }
    for (referring, property) in references { setToOne(referring, property, nil) }
    // Prevent a call to `awakeFromInsert`, because the object was already awakened when it was
    // inserted or fetched.
    object.state.insert(.hasAwoken)
    _ = register(new: object)
    for property in entity(of: object).properties where property.isAttribute {
      object.recordAssignment(of: property)
    }
    for (referring, property) in references { relate(referring, property, to: object) }
  }

  /// Returns the references to a deleted object that remain in this context's loaded objects.
  ///
  /// - Complexity: O(objects in the context) if references to the object's class can remain after a
  ///   deletion. Otherwise, O(relationships in the model).
  private func remainingReferences(
    to object: ManagedObject
  ) -> [(object: ManagedObject, property: PropertyDescription)] {
    let entity = entity(of: object)
    let properties = model.schema.entities.flatMap { other in
      other.ownProperties.filter { property in
        guard property.isReference, let destination = model.schema.destination(of: property),
          entity.isKind(of: destination)
        else { return false }
        guard let inverse = other.inverses[property.slot]?.property else { return true }
        return inverse.options.deleteRule == .noAction
      }.map { (owner: other, property: $0) }
    }
    guard !properties.isEmpty else { return [] }
    return allRegistered().flatMap { referring in
      properties.compactMap { owner, property in
        guard !referring.isFault, !referring.isDeleted,
          referring.entityDescription?.isKind(of: owner) == true,
          let number = try? referring.storedValue(property).reference,
          resolved(number) == object.number
        else { return nil }
        return (referring, property)
      }
    }
  }
}
