extension EntityDescription {
  /// Returns the initial values of a new object.
  ///
  /// If an initial value, such as `UUID()`, can differ between objects, each call evaluates it
  /// again.
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
