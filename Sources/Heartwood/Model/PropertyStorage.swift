/// A property wrapper type whose values can be read and set directly in an object's memory.
///
/// - Note: The schema guarantees that each pointer points to an initialised wrapper of the type.
protocol PropertyStorage: SendableMetatype {
  /// The in-memory representation of the property, or `other` if no specific case applies.
  static var representation: PropertyRepresentation { get }
  static var kind: PropertyDescription.Kind { get }
  /// The destination class of a relationship, or `nil` if the property is not a relationship.
  static var destination: AnyClass? { get }
  /// The attribute's type if its values are collections; otherwise, `nil`.
  static var collection: (any CollectionAttributeValue.Type)? { get }
  /// The structure type of a composite property, or `nil` if the property is not composite.
  ///
  /// The model contains the elements of the structure in place of the property itself.
  static var composite: (any CompositeValue.Type)? { get }
  /// A Boolean value that indicates whether the property's type is a nested optional.
  ///
  /// Nested optionals cannot be stored, because a row cannot record which level is `nil`.
  static var isNestedOptional: Bool { get }
  /// Returns whether the values of the property, or their raw values, have the given type.
  ///
  /// An optional type is treated like the type that it wraps.
  static func isValue(of type: Any.Type) -> Bool
  /// A Boolean value that indicates whether the property is an attribute of a type that the library
  /// supports directly, rather than of a custom type.
  static var isStandardType: Bool { get }
  /// The stored forms of all values of the attribute's type, in the order that the type's `<`
  /// defines.
  ///
  /// The array is empty if the order is unknown. The property is `nil` if `<` orders the values in
  /// the same way as their stored forms, as it does for all standard types.
  static var valueOrder: [StoredValue]? { get }
  /// Returns the stored representation of the attribute at a location in memory.
  static func value(at location: UnsafeRawPointer) throws -> StoredValue
  /// Decodes an attribute value from another format, and returns its stored representation.
  ///
  /// - Throws: `DecodingError` if the decoder contains no value of the attribute's type.
  static func decodedValue(_ decoder: any Decoder) throws -> StoredValue
  /// Decodes a stored `Codable` value, and re-encodes it as its type specifies.
  ///
  /// - Returns: `false`, without encoding anything, if this version of the type cannot decode the
  ///   value.
  static func encode(
    _ value: StoredValue, to container: inout any SingleValueEncodingContainer
  ) throws -> Bool
  /// Sets the attribute at a location in memory.
  static func setValue(_ value: StoredValue, at location: UnsafeMutableRawPointer) throws
}

/// The in-memory representation of a property.
///
/// All representations except ``other`` are accessed without dynamic dispatch.
enum PropertyRepresentation: Sendable {
  /// Eight bytes that contain an `Int` or `Int64`.
  case integer
  /// Eight bytes that contain a `Double`.
  case double
  /// A `Float`.
  case float
  /// A `Bool`.
  case bool
  /// A `Date`.
  case date
  /// A `String`.
  case string
  /// An optional `Int` or `Int64`.
  case optionalInteger
  /// An optional `Double`.
  case optionalDouble
  /// An optional `Date`.
  case optionalDate
  /// An optional `String`.
  case optionalString
  /// A `ToOneTarget`.
  case reference
  /// Any other type, which is accessed through dynamic dispatch.
  case other
}

extension PropertyRepresentation {
  /// A Boolean value that indicates whether the property can be `nil`.
  var isOptional: Bool {
    switch self {
    case .optionalInteger, .optionalDouble, .optionalDate, .optionalString: true
    default: false
    }
  }
}

extension PropertyStorage {
  static var representation: PropertyRepresentation { .other }

  /// Copies a property from one location in memory to another.
  static func copy(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: Self.self).pointee =
      source.assumingMemoryBound(to: Self.self).pointee
  }

  static var destination: AnyClass? { nil }
  static var collection: (any CollectionAttributeValue.Type)? { nil }
  static var composite: (any CompositeValue.Type)? { nil }
  static var isNestedOptional: Bool { false }
  static func isValue(of type: Any.Type) -> Bool { true }
  static var isStandardType: Bool { false }
  static var valueOrder: [StoredValue]? { nil }
  static func value(at location: UnsafeRawPointer) throws -> StoredValue { .null }
  static func decodedValue(_ decoder: any Decoder) throws -> StoredValue { .null }
  static func encode(
    _ value: StoredValue, to container: inout any SingleValueEncodingContainer
  ) throws -> Bool { false }
  static func setValue(_ value: StoredValue, at location: UnsafeMutableRawPointer) throws {}
}
