extension ManagedObjectContext {
  /// What an object's `validate` threw, with the object and its class.
  func validationFailure(of object: ManagedObject, _ error: any Error) -> ObjectGraphError {
    var failure =
      error as? ObjectGraphError
      ?? ObjectGraphError(.validation, "\(error)", underlyingError: error)
    // One that tells of another object says so.
    guard failure.objectID == nil || failure.objectID == object.objectID else { return failure }
    failure.objectID = object.objectID
    failure.entityName = failure.entityName ?? object.entityDescription?.name
    return failure
  }
}
