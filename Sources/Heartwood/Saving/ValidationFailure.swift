extension ManagedObjectContext {
  /// Returns the error thrown by an object's `validate` method, with the object's ID and class
  /// added.
  func validationFailure(of object: ManagedObject, _ error: any Error) -> ObjectGraphError {
    var failure =
      error as? ObjectGraphError
      ?? ObjectGraphError(.validation, "\(error)", underlyingError: error)
    // Do not modify an error that is about another object.
    guard failure.objectID == nil || failure.objectID == object.objectID else { return failure }
    failure.objectID = object.objectID
    failure.entityName = failure.entityName ?? object.entityDescription?.name
    return failure
  }
}
