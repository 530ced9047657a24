import Foundation

/// A probe that resolves a key path to properties by reading the key path on a prototype object.
///
/// A key path does not reveal its components. The probe therefore applies the key path to an object
/// created for this purpose, and records the properties that are read. Reading a to-one
/// relationship returns another prototype.
final class PropertyProbe: ObjectSource {
  private let schema: Schema.Content
  private var path: [(entity: EntityDescription, property: PropertyDescription)] = []
  private var prototypes: [ManagedObject] = []
  private let space = ManagedObjectID.Space(store: UUID(), entityNames: [:])

  private init(_ schema: Schema.Content) { self.schema = schema }

  /// Returns the properties in a key path, in order, or `nil` if the key path does not end with a
  /// stored property.
  static func path(
    _ keyPath: AnyKeyPath, in schema: Schema.Content
  ) -> [(entity: EntityDescription, property: PropertyDescription)]? {
    guard let root = type(of: keyPath).rootType as? ManagedObject.Type,
      let entity = schema.entity(of: root)
    else { return nil }
    let probe = PropertyProbe(schema)
    guard let prototype = probe.prototype(of: entity) else { return nil }
    let any: Any = prototype
    _ = any[keyPath: keyPath]
    for prototype in probe.prototypes { prototype.source = nil }
    if let last = probe.path.last,
      let composite = last.entity.composite(at: last.property.offset)
    {
      guard let element = composite.element(at: keyPath, in: last.entity) else { return nil }
      probe.path[probe.path.count - 1].property = element
    }
    // If the last component is a computed property, the properties that its getter reads were
    // recorded instead. Compare the types to detect this case, because the type of the last
    // recorded property usually differs from the type of the key path.
    guard let last = probe.path.last,
      last.property.storage.isValue(of: Swift.type(of: keyPath).valueType)
    else { return nil }
    return probe.path
  }

  /// Returns whether a key path refers to the `objectID` of its root object.
  static func isID(_ keyPath: AnyKeyPath, in schema: Schema.Content) -> Bool {
    guard type(of: keyPath).valueType == ManagedObjectID.self,
      let root = type(of: keyPath).rootType as? ManagedObject.Type,
      let entity = schema.entity(of: root)
    else { return false }
    let probe = PropertyProbe(schema)
    guard let prototype = probe.prototype(of: entity) else { return false }
    defer { for prototype in probe.prototypes { prototype.source = nil } }
    let any: Any = prototype
    return (any[keyPath: keyPath] as? ManagedObjectID)?.number == prototype.number
  }

  private func prototype(of entity: EntityDescription) -> ManagedObject? {
    guard let type = entity.type as? ManagedObject.Type else { return nil }
    let object = type.init()
    object.entityDescription = entity
    object.state = .prototype
    object.hooks = [.reading, .writing]
    object.source = self
    prototypes.append(object)
    // Set the number and the ID space too, because the object's ID is computed from these
    // properties, and the key path may read the ID.
    object.number = ObjectNumber(bits: Int64(prototypes.count))
    object.changes = ObjectChanges()
    object.changes?.space = space
    return object
  }

  /// Records that a property of a prototype was read.
  static func recordRead(of object: ManagedObject, _ offset: Int) {
    guard let probe = object.source as? PropertyProbe, let entity = object.entityDescription,
      let property = entity.property(at: offset)
    else { return }
    probe.path.append((entity, property))
  }

  /// Records that a to-one relationship was read, and returns a prototype for its target.
  static func destination(_ object: ManagedObject, _ offset: Int) -> ManagedObject? {
    recordRead(of: object, offset)
    guard let probe = object.source as? PropertyProbe,
      let property = object.entityDescription?.property(at: offset),
      let type = property.storage.destination as? ManagedObject.Type,
      let entity = probe.schema.entity(of: type)
    else { return nil }
    return probe.prototype(of: entity)
  }

  // MARK: Unused by prototypes

  func fire(_ object: ManagedObject) {}
  func willChange(_ object: ManagedObject, _ property: PropertyDescription) {}
  func didRead(_ object: ManagedObject, _ property: PropertyDescription) {}
  func didChange(_ object: ManagedObject, _ property: PropertyDescription) {}
  func willWriteElement(_ object: ManagedObject, _ property: PropertyDescription) {}
  func didWriteElement(_ object: ManagedObject, _ property: PropertyDescription) {}
  func toOneTarget(of object: ManagedObject, _ property: PropertyDescription) -> ManagedObject? {
    nil
  }
  func loadedMembers(of object: ManagedObject, _ property: PropertyDescription) -> [ManagedObject] {
    []
  }
  func relate(_ object: ManagedObject, _ property: PropertyDescription, to target: ManagedObject?) {
  }
  func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to members: [ManagedObject]
  ) {}
  func relate(
    _ object: ManagedObject, _ property: PropertyDescription, to members: Set<ManagedObject>,
    hashed: [ObjectIdentifier]?
  ) {}
  func memberCount(of object: ManagedObject, _ property: PropertyDescription) -> Int { 0 }
  func hasMember(
    _ member: ManagedObject, in object: ManagedObject, _ property: PropertyDescription
  ) -> Bool { false }
  func insertMember(
    _ member: ManagedObject, in object: ManagedObject, _ property: PropertyDescription
  ) -> Bool { false }
  func removeMember(
    _ member: ManagedObject, from object: ManagedObject, _ property: PropertyDescription
  ) -> Bool { false }
  func insert(_ object: ManagedObject) {}
  func forget(_ number: ObjectNumber) {}
}
