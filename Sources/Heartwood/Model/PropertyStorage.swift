/// How the properties of a wrapper type lie in the memory of an object.
///
/// - Note: Places must hold an initialised wrapper of the type; the schema has made sure of it.
protocol PropertyStorage: SendableMetatype {
  /// What lies in memory, if it is one of the simple forms.
  static var representation: PropertyRepresentation { get }
  static var kind: PropertyDescription.Kind { get }
  /// The class at the other end of a relationship.
  static var destination: AnyClass? { get }
  /// Whether it is an optional of an optional, of which a row cannot tell which is `nil`.
  static var isNestedOptional: Bool { get }
  /// Whether values of the property, or their raw values, are of a type or an optional of it.
  static func isValue(of type: Any.Type) -> Bool
  /// The value of an attribute, in its stored form.
  static func value(at place: UnsafeRawPointer) throws -> StoredValue
  /// Sets an attribute.
  static func setValue(_ value: StoredValue, at place: UnsafeMutableRawPointer) throws
}

/// Simple forms of properties in memory, which are read and filled without asking their types.
enum PropertyRepresentation: Sendable {
  /// Eight bytes that are an `Int` or `Int64`.
  case integer
  /// Eight bytes that are a `Double`.
  case number
  /// A `String`.
  case text
  /// Anything else: the type has to be asked.
  case other
}

extension PropertyStorage {
  static var representation: PropertyRepresentation { .other }

  /// Sets a property to what it is at another place.
  static func copy(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: Self.self).pointee =
      source.assumingMemoryBound(to: Self.self).pointee
  }

  static var destination: AnyClass? { nil }
  static var isNestedOptional: Bool { false }
  static func isValue(of type: Any.Type) -> Bool { true }
  static func value(at place: UnsafeRawPointer) throws -> StoredValue { .null }
  static func setValue(_ value: StoredValue, at place: UnsafeMutableRawPointer) throws {}
}
