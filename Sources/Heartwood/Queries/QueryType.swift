/// The type of an expression in a predicate.
///
/// The type determines which operations the expression supports.
indirect enum QueryType: Sendable {
  /// The type of the literal `nil`, which can be compared with values of any type except
  /// collections.
  case nothing
  case bool
  case integer
  /// A floating-point number, which is a `Float` if `isFloat` is `true`.
  case number(isFloat: Bool = false)
  case decimal
  case date
  case uuid
  case text
  case bytes
  /// A value of a `Codable` type, which can be compared only with `nil`.
  case opaque
  /// A collection that is stored in an attribute, and that predicates can search.
  case array(any CollectionAttributeValue.Type)
  /// A managed object of the given entity, or of any entity if the given entity is `nil`.
  case object(EntityDescription?)
  case list(QueryType)

  init(_ storageType: StorageType) {
    switch storageType {
    case .bool: self = .bool
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64: self = .integer
    case .float: self = .number(isFloat: true)
    case .double: self = .number()
    case .date: self = .date
    case .uuid: self = .uuid
    case .string: self = .text
    case .bytes: self = .bytes
    case .decimal: self = .decimal
    case .json: self = .opaque
    case .reference: self = .object(nil)
    }
  }

  /// The entity of an object, or of the objects in a list.
  ///
  /// The property is `nil` for other values and for objects of an unknown entity.
  var entity: EntityDescription? {
    switch self {
    case .object(let entity): entity
    case .list(let element): element.entity
    default: nil
    }
  }

  var isNumeric: Bool {
    switch self {
    case .integer, .number, .decimal: true
    default: false
    }
  }

  var isNothing: Bool {
    if case .nothing = self { return true }
    return false
  }

  var isDecimal: Bool {
    if case .decimal = self { return true }
    return false
  }

  var isFloating: Bool {
    if case .number = self { return true }
    return false
  }

  var isFloat: Bool {
    if case .number(isFloat: true) = self { return true }
    return false
  }

  var isText: Bool {
    switch self {
    case .text, .nothing: true
    default: false
    }
  }

  var isBool: Bool {
    switch self {
    case .bool, .nothing: true
    default: false
    }
  }

  /// Returns whether values of this type can be compared with values of the other type.
  func isComparable(with other: QueryType) -> Bool {
    switch (self, other) {
    case (.opaque, .nothing), (.nothing, .opaque), (.array, .nothing), (.nothing, .array): true
    case (.opaque, _), (_, .opaque), (.list, _), (_, .list), (.array, _), (_, .array): false
    case (.nothing, _), (_, .nothing): true
    case (.bool, .bool), (.date, .date), (.uuid, .uuid), (.text, .text), (.bytes, .bytes): true
    case (.object, .object): true
    default: isNumeric && other.isNumeric
    }
  }

  /// A Boolean value that indicates whether values of the type are ordered.
  var isOrdered: Bool {
    switch self {
    case .integer, .number, .decimal, .date, .uuid, .text, .bytes, .nothing: true
    case .bool, .opaque, .object, .list, .array: false
    }
  }

  /// Returns a type to which the values of both types can be converted, or `nil` if there is none.
  func commonType(with other: QueryType) -> QueryType? {
    switch (self, other) {
    case (.nothing, _): return other
    case (_, .nothing): return self
    case (.object(let first), .object(let second)):
      guard let first, let second else { return .object(first ?? second) }
      if first.isKind(of: second) { return .object(second) }
      return .object(second.isKind(of: first) ? first : nil)
    case (.list(let first), .list(let second)):
      return first.commonType(with: second).map { .list($0) }
    case (.opaque, .opaque): return .opaque
    default: break
    }
    guard isComparable(with: other) else { return nil }
    if isDecimal || other.isDecimal { return .decimal }
    if isFloating || other.isFloating { return .number(isFloat: isFloat && other.isFloat) }
    return self
  }

  /// The name of the type in error messages, with an article, such as "an integer".
  var phrase: String {
    switch self {
    case .nothing: "nil"
    case .bool: "a boolean"
    case .integer: "an integer"
    case .number: "a floating-point number"
    case .decimal: "a decimal number"
    case .date: "a date"
    case .uuid: "a UUID"
    case .text: "a string"
    case .bytes: "binary data"
    case .opaque: "a value of a Codable type"
    case .object(let entity): entity.map { "an object of \($0.name)" } ?? "an object"
    case .list, .array: "a collection"
    }
  }
}
