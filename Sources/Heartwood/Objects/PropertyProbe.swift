import Foundation

/// A probe that resolves a key path to properties by reading the key path on a prototype object.
///
/// A key path does not reveal its components. The probe therefore applies the key path to an object
/// created for this purpose, and records the properties that are read. Reading a to-one
/// relationship returns another prototype.
final class PropertyProbe: ObjectSource {
  private let schema: Schema.Content
  private var path: [(entity: EntityDescription, property: PropertyDescription)] = []
  /// The prototype whose property was read last.
  private var owner: ManagedObject?
  /// A property, and a sample value to which it is set in every prototype.
  private var sample: (property: PropertyDescription, value: StoredValue)?
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
    defer { for prototype in probe.prototypes { prototype.source = nil } }
    let isUnchanged = probe.isUnchanged(by: keyPath, of: prototype)
    var path = probe.path
    guard let last = path.last else { return nil }
    let valueType = Swift.type(of: keyPath).valueType
    if let composite = last.entity.composite(at: last.property.offset) {
      guard let element = composite.element(at: keyPath, in: last.entity),
        element.storage.isValue(of: valueType)
      else { return nil }
      path[path.count - 1].property = element
      return path
    }
    // If the last component is a computed property, the properties that its getter reads were
    // recorded instead. Detect this case by comparing the type of the last recorded property with
    // the type of the key path or, if the types are equal, by comparing the values.
    guard last.property.storage.isValue(of: valueType), isUnchanged else { return nil }
    let isOptional = valueType is any NestableOptional.Type
    for value in last.property.samples where isOptional || !value.isNull {
      probe.sample = (last.property, value)
      guard probe.isUnchanged(by: keyPath, of: prototype),
        probe.path.last?.property === last.property
      else { return nil }
    }
    return path
  }

  /// Reads a key path, and returns whether the result is the value of the property that was read
  /// last.
  ///
  /// Values that cannot be compared are treated as equal.
  private func isUnchanged(by keyPath: AnyKeyPath, of prototype: ManagedObject) -> Bool {
    let any: Any = prototype
    let result = any[keyPath: keyPath]
    guard let owner, let last = path.last, last.property.isAttribute,
      let value = result as? any AttributeValue, let read = try? value.storedValue,
      let stored = try? owner.storedValue(last.property)
    else { return true }
    return read.isIdentical(to: stored)
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
    // Set the number and the ID space too, because the key path may read the object's ID, which is
    // computed from these properties.
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
    probe.owner = object
    if let sample = probe.sample, sample.property === property {
      // Ignore any error, because a type with only a few valid values may reject the sample. In
      // that case, the property keeps its value.
      try? property.storage.setValue(sample.value, at: object.memory + property.offset)
    }
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

  // MARK: Not used by prototypes

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

extension PropertyDescription {
  /// Sample values for testing whether a key path transforms the attribute's value.
  ///
  /// Only common values are used, because the getter of a computed property may trap if it reads an
  /// unusual value. For the same reason, there are no samples for types that the program itself
  /// defines.
  fileprivate var samples: [StoredValue] {
    guard case .attribute(let type, let isOptional) = kind, storage.isStandardType else {
      return []
    }
    let values: [StoredValue] =
      switch type {
      case .bool: [.bool(true), .bool(false)]
      case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64:
        [.integer(1), .integer(2)]
      case .float, .double: [.double(1.5), .double(-1.5)]
      case .date: [.date(bits: 1.5.bitPattern), .date(bits: (-100_000.5).bitPattern)]
      case .uuid: [.uuid(high: 1, low: 2)]
      case .string: [.string("aB")]
      case .bytes: [.bytes([2, 1])]
      case .decimal: [.string("1.5"), .string("-1.5")]
      case .json, .reference: []
      }
    return isOptional ? values + [.null] : values
  }
}
