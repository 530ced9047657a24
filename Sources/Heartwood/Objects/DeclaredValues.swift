extension EntityDescription {
  /// Returns the initial values of a new object.
  ///
  /// A declared value that can differ between objects, such as `UUID()`, is evaluated again on each
  /// call.
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
