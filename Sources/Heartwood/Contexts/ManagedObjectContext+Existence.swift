/// Methods that determine whether saved objects still exist in the parent or in the store.
extension ManagedObjectContext {
  /// Returns the object with the given number.
  ///
  /// Returns `nil` if the object is deleted or has no row in the pinned generation, or if it is a
  /// new object whose insertion was reverted. The insertion is considered reverted if neither this
  /// context nor any of its parents contains the object.
  func existingObject(_ number: ObjectNumber) -> ManagedObject? {
    let number = resolved(number)
    var context: ManagedObjectContext? = number.isTemporary ? self : nil
    while let one = context, one.registered[number] == nil {
      guard one.parent != nil else { return nil }
      context = one.parent
    }
    guard let object = object(number), !object.isDeleted else { return nil }
    guard isPinned, object.isFault else { return object }
    fire(object)
    return object.isFault ? nil : object
  }

  /// Returns the object with the given number, or `nil` if no relationship may refer to it.
  ///
  /// A relationship may refer only to a new object or to an object that has a row.
  func relatableObject(_ number: ObjectNumber) -> ManagedObject? {
    guard let object = existingObject(number) else { return nil }
    if object.isInserted { return object }
    if let parent { return parent.relatableObject(object.number).map { _ in object } }
    return !object.isFault || rowExists(of: object) ? object : nil
  }

  /// Returns whether a saved object exists in the parent or, in a root context, has a row.
  func isPresent(_ object: ManagedObject) -> Bool {
    parent.map { $0.relatableObject(object.number) != nil } ?? rowExists(of: object)
  }

  /// Returns whether ``findRow(of:)`` finds a row, or `false` if the row cannot be read.
  func rowExists(of object: ManagedObject) -> Bool { (try? findRow(of: object)) == true }

  /// Returns whether an object has a row in the generation that the context reads.
  func findRow(of object: ManagedObject) throws -> Bool {
    guard let storage = model.storage(of: object.number) else { return false }
    return try currentView().withRecord(object.number, storage) { _ in } != nil
  }
}
