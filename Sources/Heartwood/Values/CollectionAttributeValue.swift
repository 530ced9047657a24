/// An attribute type whose values are collections that predicates can search.
protocol CollectionAttributeValue: AttributeValue, SendableMetatype {
  /// The storage type of the elements.
  static var elementStorageType: StorageType { get }
  /// The stored representations of a value's elements.
  var storedElements: [StoredValue] { get throws }
}

extension CollectionAttributeValue {
  /// Returns the elements of a stored value, or an empty array if this version of the type cannot
  /// decode the value.
  ///
  /// - Throws: `StorageError.corrupt` if the stored value has the wrong type.
  static func elements(of value: StoredValue) throws -> [StoredValue] {
    guard !value.isNull else { return [] }
    return try Self(known: value)?.storedElements ?? []
  }
}

extension Array: CollectionAttributeValue where Element: AttributeValue & Codable {
  static var elementStorageType: StorageType { Element.storageType }
  var storedElements: [StoredValue] { get throws { try map { try $0.storedValue } } }
}

extension Set: CollectionAttributeValue where Element: AttributeValue & Codable {
  static var elementStorageType: StorageType { Element.storageType }
  var storedElements: [StoredValue] { get throws { try map { try $0.storedValue } } }
}

extension Optional: CollectionAttributeValue where Wrapped: CollectionAttributeValue {
  static var elementStorageType: StorageType { Wrapped.elementStorageType }
  var storedElements: [StoredValue] { get throws { try self?.storedElements ?? [] } }
}
