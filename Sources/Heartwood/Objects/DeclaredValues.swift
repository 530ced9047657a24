extension EntityDescription {
  /// The values of a new object, computed anew where a declaration gives another value each time.
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
