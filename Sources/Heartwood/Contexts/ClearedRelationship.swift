/// A to-many relationship that is about to be cleared in one step because the object that owns it
/// is being deleted.
struct ClearedRelationship: Hashable {
  private let object: ObjectIdentifier
  private let slot: Int

  init(_ object: ManagedObject, _ property: PropertyDescription) {
    (self.object, slot) = (ObjectIdentifier(object), property.slot)
  }
}
