public import Foundation

// An in-place mutation moves the value out of its object. Until the mutation ends, the object
// contains a placeholder, such as an empty collection.

extension Array where Element: AttributeValue & Codable {
  /// An empty array that the object holds while the attribute's value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: [Element]? { [] }
}

extension Set where Element: AttributeValue & Codable {
  /// An empty set that the object holds while the attribute's value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: Set<Element>? { [] }
}

extension Dictionary where Key: Codable, Value: Codable {
  /// An empty dictionary that the object holds while the attribute's value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: [Key: Value]? { [:] }
}

extension String {
  /// An empty string that the object holds while the attribute's value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: String? { "" }
}

extension Data {
  /// Empty data that the object holds while the attribute's value is mutated in place.
  @inlinable
  public static var placeholderWhileChanging: Data? { Data() }
}

extension Optional where Wrapped: AttributeValue {
  /// The placeholder `.some(nil)`, which the object holds while the attribute's value is mutated in
  /// place.
  ///
  /// If the wrapped type has no placeholder, this property is `nil`, because the optional type then
  /// has no placeholder either.
  @inlinable
  public static var placeholderWhileChanging: Wrapped?? {
    Wrapped.placeholderWhileChanging == nil ? nil : .some(nil)
  }
}
