/// A stored property of an entity, as its class declares it.
final class PropertyDescription: Sendable {
  /// What a property holds.
  enum Kind: Sendable {
    case attribute(StoredForm, isOptional: Bool)
    case toOne
    case toMany(isOrdered: Bool)
    /// Kept in memory only.
    case transient
  }

  /// The name in the class.
  let name: String
  /// The position among the properties of its entity, those inherited first.
  let slot: Int
  let kind: Kind
  /// How the property lies in an object, and where.
  let storage: any PropertyStorage.Type
  let representation: PropertyRepresentation
  let offset: Int
  let options: PropertyOptions
  /// What an object has before anything was set; one of many if ``isVolatile``.
  let initialValue: StoredValue
  /// Whether each new object has another one, as a declaration of `UUID()` says.
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

  /// Whether it is a to-one relationship.
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

  /// The form of its field in a record; `nil` if it has none.
  var recordForm: StoredForm? {
    switch kind {
    case .attribute(let form, _): form
    case .toOne: .reference
    case .toMany, .transient: nil
    }
  }
}

/// What a declaration says of a property besides its type.
struct PropertyOptions: @unchecked Sendable {
  // @unchecked because key paths without captured values, the only ones here, never change.
  var storedName: String?
  var renamedFrom: [String] = []
  var isPreservedOnDeletion = false
  var deleteRule: DeleteRule?
  var inverse: AnyKeyPath?
}
