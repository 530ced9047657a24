extension EntityDescription {
  /// Returns the values of a new object.
  ///
  /// Declared values that differ each time they are evaluated are computed again.
  func initialValues() throws -> [StoredValue] {
    guard hasVolatileDefaults, let type = type as? ManagedObject.Type else {
      return properties.map(\.initialValue)
    }
    let object = type.init()
    return try properties.map { property in
      property.isVolatile ? try object.storedValue(property) : property.initialValue
    }
  }
}
