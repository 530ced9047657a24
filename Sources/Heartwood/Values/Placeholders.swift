public import Foundation

// An in-place mutation moves a collection out of its object. Until the mutation ends, the object
// contains an empty collection.

extension Array where Element: AttributeValue & Codable {
  /// The empty array.
  @inlinable
  public static var placeholderWhileChanging: [Element]? { [] }
}

extension Set where Element: AttributeValue & Codable {
  /// The empty set.
  @inlinable
  public static var placeholderWhileChanging: Set<Element>? { [] }
}

extension String {
  /// The empty string.
  @inlinable
  public static var placeholderWhileChanging: String? { "" }
}

extension Data {
  /// Empty data.
  @inlinable
  public static var placeholderWhileChanging: Data? { Data() }
}

extension Optional where Wrapped: AttributeValue {
  /// The value `nil`, if the wrapped type has a placeholder; otherwise no placeholder.
  @inlinable
  public static var placeholderWhileChanging: Wrapped?? {
    Wrapped.placeholderWhileChanging == nil ? nil : .some(nil)
  }
}
