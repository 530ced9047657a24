public import Foundation

// An in-place mutation moves the value out of its object. Until the mutation ends, the object
// contains a placeholder, such as an empty collection.

extension Array where Element: AttributeValue & Codable {
  /// An empty array, which replaces the attribute's value while the value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: [Element]? { [] }
}

extension Set where Element: AttributeValue & Codable {
  /// An empty set, which replaces the attribute's value while the value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: Set<Element>? { [] }
}

extension Dictionary where Key: Codable, Value: Codable {
  /// An empty dictionary, which replaces the attribute's value while the value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: [Key: Value]? { [:] }
}

extension String {
  /// An empty string, which replaces the attribute's value while the value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: String? { "" }
}

extension Data {
  /// Empty data, which replaces the attribute's value while the value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: Data? { Data() }
}

extension Optional where Wrapped: AttributeValue {
  /// A missing value (`.some(nil)`), which replaces the attribute's value while the value is
  /// mutated in place.
  ///
  /// If the wrapped type has no placeholder, this property is `nil`, because the optional type then
  /// has no placeholder either.
  @inlinable
  public static var placeholderWhileChanging: Wrapped?? {
    Wrapped.placeholderWhileChanging == nil ? nil : .some(nil)
  }
}
