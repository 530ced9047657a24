/// A stored property of an entity, as its class declares it.
final class PropertyDescription: Sendable {
  /// The kind of a property, with its type.
  enum Kind: Sendable {
    case attribute(StorageType, isOptional: Bool)
    case toOne
    case toMany(isOrdered: Bool)
    /// A property that exists in memory only.
    case transient
  }

  /// The property's name in the class.
  let name: String
  /// The position among the properties of the entity; inherited properties come first.
  let slot: Int
  let kind: Kind
  /// The type that reads and writes the property in the memory of an object.
  let storage: any PropertyStorage.Type
  let memoryField: MemoryField
  let options: PropertyOptions
  /// The value in a new object or, if ``isVolatile`` is `true`, one of the possible values.
  let initialValue: StoredValue
  /// Whether the declared value, such as `UUID()`, can differ between new objects.
  let isVolatile: Bool

  init(
    name: String, slot: Int, storage: any PropertyStorage.Type, offset: Int,
    options: PropertyOptions, initialValue: StoredValue, isVolatile: Bool = false
  ) {
    self.name = name
    self.slot = slot
    kind = storage.kind
    self.storage = storage
    memoryField = MemoryField(
      slot: slot, offset: offset, representation: storage.representation)
    self.options = options
    self.initialValue = initialValue
    self.isVolatile = isVolatile
  }

  /// The offset of the property in the memory of an object.
  var offset: Int { memoryField.offset }

  /// The property's name in the store.
  var storedName: String { options.storedName ?? name }

  var isAttribute: Bool {
    if case .attribute = kind { return true }
    return false
  }

  /// Whether the property is an attribute that can have no value.
  var isOptionalAttribute: Bool {
    if case .attribute(_, isOptional: true) = kind { return true }
    return false
  }

  /// Whether the property is a to-one relationship.
  var isReference: Bool {
    if case .toOne = kind { return true }
    return false
  }

  var isRelationship: Bool {
    switch kind {
    case .toOne, .toMany: true
    case .attribute, .transient: false
    }
  }

  /// The storage type of the property's field in a record, or `nil` if it has no field.
  var fieldStorageType: StorageType? {
    switch kind {
    case .attribute(let storageType, _): storageType
    case .toOne: .reference
    case .toMany, .transient: nil
    }
  }
}

/// The position and the representation of a property in the memory of an object.
///
/// Unlike a property description, it is not reference-counted, so a loop over all properties of an
/// object does not retain and release each one.
struct MemoryField: Sendable {
  let slot: Int
  let offset: Int
  let representation: PropertyRepresentation
}

/// The options with which a property is declared.
struct PropertyOptions: @unchecked Sendable {
  // `@unchecked` because key paths are not `Sendable`. This is safe, because the key path of an
  // inverse captures no values and never changes.
  var storedName: String?
  var renamedFrom: [String] = []
  var rules: [AttributeRule] = []
  var isPreservedOnDeletion = false
  var deleteRule: DeleteRule?
  var inverse: AnyKeyPath?
}
