public import Foundation

// An in-place mutation moves a collection out of its object. Until the mutation ends, the object
// contains an empty collection.

extension Array where Element: AttributeValue & Codable {
  /// An empty array, which the object contains during an in-place mutation.
  @inlinable
  public static var placeholderWhileChanging: [Element]? { [] }
}

extension Set where Element: AttributeValue & Codable {
  /// An empty set, which the object contains during an in-place mutation.
  @inlinable
  public static var placeholderWhileChanging: Set<Element>? { [] }
}

extension String {
  /// An empty string, which the object contains during an in-place mutation.
  @inlinable
  public static var placeholderWhileChanging: String? { "" }
}

extension Data {
  /// Empty data, which the object contains during an in-place mutation.
  @inlinable
  public static var placeholderWhileChanging: Data? { Data() }
}

extension Optional where Wrapped: AttributeValue {
  /// A missing value (`.some(nil)`), which the object contains during an in-place mutation.
  ///
  /// If the wrapped type has no placeholder, the optional type has none either.
  @inlinable
  public static var placeholderWhileChanging: Wrapped?? {
    Wrapped.placeholderWhileChanging == nil ? nil : .some(nil)
  }
}
