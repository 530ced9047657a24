/// Detection of values that cannot be stored.
extension SaveRequest {
  /// Records an error if a row could not be read back after being stored.
  ///
  /// The error makes the save fail.
  mutating func checkValues(of change: RowChange) {
    guard let failure = change.storage.refusal(of: change.after) else { return }
    unstorable.append(
      ObjectGraphError(
        .validation, failure, objectID: ManagedObjectID(change.reportedNumber, model.space)))
  }

  /// Returns the value of an attribute.
  ///
  /// If the attribute's type cannot encode the value, the method returns `null` and records an
  /// error that makes the save fail.
  mutating func storedValue(
    _ property: PropertyDescription, of object: ManagedObject
  ) -> StoredValue {
    do {
      return try object.storedValue(property)
    } catch {
      let entity = context.entity(of: object)
      unstorable.append(
        ObjectGraphError(
          .validation,
          "The value of \(entity.name).\(property.name) could not be encoded. Set a different "
            + "value. Underlying error: \(error)",
          objectID: ManagedObjectID(object.number, model.space)))
      return .null
    }
  }
}
