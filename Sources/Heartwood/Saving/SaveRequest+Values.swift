/// Detects values that cannot be stored.
extension SaveRequest {
  /// Checks that all rows can be stored and read back.
  ///
  /// - Throws: `validation`, with all failures, if any row cannot be stored.
  func requireStorable(_ rows: [RowChange]) throws {
    var failures = unencodable
    for row in rows where !row.isDeleted {
      guard let failure = row.storage.refusal(of: row.after) else { continue }
      failures.append(
        ObjectGraphError(
          .validation, failure, objectID: ManagedObjectID(row.reportedNumber, model.space)))
    }
    try failures.throwAll(.validation, "cannot be stored")
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
      unencodable.append(
        ObjectGraphError(
          .validation,
          "The value of \(entity.name).\(property.name) could not be encoded. Set a different "
            + "value. The error was: \(error)",
          objectID: ManagedObjectID(object.number, model.space)))
      return .null
    }
  }
}
