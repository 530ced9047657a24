extension ManagedObjectContext {
  /// Returns the error of an object's `validate`, with the object and its class.
  func validationFailure(of object: ManagedObject, _ error: any Error) -> ObjectGraphError {
    var failure =
      error as? ObjectGraphError
      ?? ObjectGraphError(.validation, "\(error)", underlyingError: error)
    // An error about another object keeps its object.
    guard failure.objectID == nil || failure.objectID == object.objectID else { return failure }
    failure.objectID = object.objectID
    failure.entityName = failure.entityName ?? object.entityDescription?.name
    return failure
  }
}
