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

  /// The name in the class.
  let name: String
  /// The position among the properties of the entity, in which inherited properties come first.
  let slot: Int
  let kind: Kind
  /// The layout of the property in memory, and its offset in the object.
  let storage: any PropertyStorage.Type
  let representation: PropertyRepresentation
  let offset: Int
  let options: PropertyOptions
  /// The value in a new object, or one of many possible values if ``isVolatile``.
  let initialValue: StoredValue
  /// Whether each new object gets a different value, as with a declaration of `UUID()`.
  let isVolatile: Bool

  init(
    name: String, slot: Int, storage: any PropertyStorage.Type, offset: Int,
    options: PropertyOptions, initialValue: StoredValue, isVolatile: Bool = false
  ) {
    self.name = name
    self.slot = slot
    kind = storage.kind
    self.storage = storage
    representation = storage.representation
    self.offset = offset
    self.options = options
    self.initialValue = initialValue
    self.isVolatile = isVolatile
  }

  /// The name in the store.
  var storedName: String { options.storedName ?? name }

  var isAttribute: Bool {
    if case .attribute = kind { return true }
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

/// The options of a property's declaration, besides its type.
struct PropertyOptions: @unchecked Sendable {
  // @unchecked because it holds only key paths without captured values, which never change.
  var storedName: String?
  var renamedFrom: [String] = []
  var isPreservedOnDeletion = false
  var deleteRule: DeleteRule?
  var inverse: AnyKeyPath?
}
