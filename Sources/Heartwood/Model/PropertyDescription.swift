/// A stored property of an entity, as declared by the entity's class.
final class PropertyDescription: Sendable {
  /// The kind of a property, including the storage type of an attribute.
  enum Kind: Sendable {
    case attribute(StorageType, isOptional: Bool)
    case toOne
    case toMany(isOrdered: Bool)
    /// A property that exists in memory only.
    case transient
  }

  /// The property's name in the class.
  let name: String
  /// The position of the property among the entity's properties.
  ///
  /// Inherited properties come first.
  let slot: Int
  let kind: Kind
  /// The type that reads and writes the property in an object's memory.
  let storage: any PropertyStorage.Type
  let memoryField: MemoryField
  let options: PropertyOptions
  /// The value of the property in a new object.
  ///
  /// If ``isVolatile`` is `true`, this is only one of the possible values.
  let initialValue: StoredValue
  /// A Boolean value that indicates whether the initial value, such as `UUID()`, can differ between
  /// new objects.
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

  /// The offset of the property in an object's memory.
  var offset: Int { memoryField.offset }

  /// The property's name in the store.
  var storedName: String { options.storedName ?? name }

  /// An alternative name that feeds and imports also accept for the property, or `nil` if the
  /// property has the same name in its class and in the store.
  ///
  /// Programs use the names in their classes, and tools use the names in the store.
  var otherName: String? {
    let other = options.declaredName ?? storedName
    return other == name ? nil : other
  }

  var isAttribute: Bool {
    if case .attribute = kind { return true }
    return false
  }

  /// A Boolean value that indicates whether the property is an optional attribute.
  var isOptionalAttribute: Bool {
    if case .attribute(_, isOptional: true) = kind { return true }
    return false
  }

  /// A Boolean value that indicates whether the property is a to-one relationship.
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

  /// The storage type of the property's field in a record, or `nil` if there is no such field.
  var fieldStorageType: StorageType? {
    switch kind {
    case .attribute(let storageType, _): storageType
    case .toOne: .reference
    case .toMany, .transient: nil
    }
  }
}

/// The position and the representation of a property in an object's memory.
///
/// Unlike a property description, a memory field is not reference-counted. A loop over an object's
/// properties therefore need not retain and release each description.
struct MemoryField: Sendable {
  let slot: Int
  let offset: Int
  let representation: PropertyRepresentation
}

/// The options in a property's declaration.
struct PropertyOptions: @unchecked Sendable {
  // The conformance is `@unchecked`, because key paths are not `Sendable`. It is safe, because the
  // key path of an inverse captures no values and never changes.
  var storedName: String?
  /// The property's name in its class, or `nil` if that name equals the description's `name`.
  var declaredName: String?
  var renamedFrom: [String] = []
  var rules: [AttributeRule] = []
  var isPreservedOnDeletion = false
  var deleteRule: DeleteRule?
  var inverse: AnyKeyPath?
}
