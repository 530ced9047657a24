public import Foundation

// Collections are moved out of an object while they are changed, and what is left there is empty.

extension Array where Element: AttributeValue & Codable {
  /// The empty array, in place of one that is changed.
  @inlinable
  public static var placeholderWhileChanging: [Element]? { [] }
}

extension Set where Element: AttributeValue & Codable {
  /// The empty set, in place of one that is changed.
  @inlinable
  public static var placeholderWhileChanging: Set<Element>? { [] }
}

extension String {
  /// The empty string, in place of one that is changed.
  @inlinable
  public static var placeholderWhileChanging: String? { "" }
}

extension Data {
  /// Empty data, in place of some that is changed.
  @inlinable
  public static var placeholderWhileChanging: Data? { Data() }
}

extension Optional where Wrapped: AttributeValue {
  /// No value, in place of a collection that is changed.
  @inlinable
  public static var placeholderWhileChanging: Wrapped?? {
    Wrapped.placeholderWhileChanging == nil ? nil : .some(nil)
  }
}
