/// The operations that an object needs from its context.
protocol ObjectSource: AnyObject {
  /// Loads the values of a fault.
  ///
  /// Properties whose values cannot be loaded keep their initial values.
  func fire(_ object: ManagedObject)
  /// Called before a stored property of an object is set.
  func willChange(_ object: ManagedObject, _ property: PropertyDescription)
  /// Called after a property of an observable object has been read.
  func didRead(_ object: ManagedObject, _ property: PropertyDescription)
  /// Called after a property of an observable object has been set.
  func didChange(_ object: ManagedObject, _ property: PropertyDescription)
  /// Called before the composite attribute that contains the given element is set.
  func willWriteElement(_ object: ManagedObject, _ property: PropertyDescription)
  /// Called after an element of a composite attribute has been set, even to the same value.
  func didWriteElement(_ object: ManagedObject, _ property: PropertyDescription)
  /// Returns the target of a to-one relationship, or `nil` if there is none.
  ///
  /// The target may be a fault.
  func toOneTarget(of object: ManagedObject, _ property: PropertyDescription) -> ManagedObject?
  /// Loads the members of a to-many relationship into the object and returns them.
  @discardableResult
  func loadedMembers(of object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject]
  /// Sets a to-one relationship and its inverse.
  func relate(_ object: ManagedObject, _ property: PropertyDescription, to target: ManagedObject?)
  /// Sets a to-many relationship and its inverse.
  func relate(_ object: ManagedObject, _ property: PropertyDescription, to members: [ManagedObject])
  /// Sets an unordered to-many relationship and its inverse.
  ///
  /// - Parameter hashed: The objects that were hashed while the set was being changed, or `nil` if
  ///   they are unknown. Only these objects can have been added, because a set hashes every object
  ///   that it inserts.
  func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to members: Set<ManagedObject>,
    hashed: [ObjectIdentifier]?)
  /// Returns the number of members in a to-many relationship, loading them only if necessary.
  func memberCount(of object: ManagedObject, _ property: PropertyDescription) -> Int
  /// Returns whether an object is a member of a to-many relationship, loading the members only if
  /// necessary.
  func hasMember(
    _ member: ManagedObject, in object: ManagedObject, _ property: PropertyDescription
  ) -> Bool
  /// Adds a member to a to-many relationship and updates the inverse.
  ///
  /// - Returns: `false` if the relationship already contained the member.
  func insertMember(
    _ member: ManagedObject, in object: ManagedObject, _ property: PropertyDescription
  ) -> Bool
  /// Removes a member from a to-many relationship and updates the inverse.
  ///
  /// - Returns: `false` if the relationship did not contain the member.
  func removeMember(
    _ member: ManagedObject, from object: ManagedObject, _ property: PropertyDescription
  ) -> Bool
  /// Inserts an object that is not yet in a context.
  func insert(_ object: ManagedObject)
  /// Called when a registered object is deallocated.
  func forget(_ number: ObjectNumber)
}
