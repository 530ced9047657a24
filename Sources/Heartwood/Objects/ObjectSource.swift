/// What an object needs of the context it belongs to.
protocol ObjectSource: AnyObject {
  /// Loads the values of a fault; what cannot be loaded keeps its initial values.
  func fire(_ object: ManagedObject)
  /// Told before a persistent property of an object is set.
  func willChange(_ object: ManagedObject, _ property: PropertyDescription)
  /// Told that a property of an object that can be observed was read.
  func didRead(_ object: ManagedObject, _ property: PropertyDescription)
  /// Told that a property of an object that can be observed was set.
  func didChange(_ object: ManagedObject, _ property: PropertyDescription)
  /// The target of a to-one relationship, a fault if it is not there yet.
  func toOneTarget(of object: ManagedObject, _ property: PropertyDescription) -> ManagedObject?
  /// The members of a to-many relationship, which the object has then.
  @discardableResult
  func loadedMembers(of object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject]
  /// Sets a to-one relationship, and the other side of it.
  func relate(_ object: ManagedObject, _ property: PropertyDescription, to target: ManagedObject?)
  /// Sets a to-many relationship, and the other side of it.
  func relate(_ object: ManagedObject, _ property: PropertyDescription, to members: [ManagedObject])
  /// Sets a to-many relationship without an order, and the other side of it.
  ///
  /// - Parameter hashed: The only objects that can have joined, if that is known.
  func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to members: Set<ManagedObject>,
    hashed: [ObjectIdentifier]?)
  /// Takes in an object that was in no context.
  func insert(_ object: ManagedObject)
  /// Told when a registered object goes.
  func forget(_ number: ObjectNumber)
}
