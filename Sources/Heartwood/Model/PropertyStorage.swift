/// How the properties of a wrapper type lie in the memory of an object.
///
/// - Note: Places must hold an initialised wrapper of the type; the schema has made sure of it.
protocol PropertyStorage: SendableMetatype {
  static var kind: PropertyDescription.Kind { get }
  /// The class at the other end of a relationship.
  static var destination: AnyClass? { get }
  /// The value of an attribute, in its stored form.
  static func value(at place: UnsafeRawPointer) throws -> StoredValue
  /// Sets an attribute.
  static func setValue(_ value: StoredValue, at place: UnsafeMutableRawPointer) throws
}

extension PropertyStorage {
  /// Sets a property to what it is at another place.
  static func copy(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: Self.self).pointee =
      source.assumingMemoryBound(to: Self.self).pointee
  }

  static var destination: AnyClass? { nil }
  static func value(at place: UnsafeRawPointer) throws -> StoredValue { .null }
  static func setValue(_ value: StoredValue, at place: UnsafeMutableRawPointer) throws {}
}
