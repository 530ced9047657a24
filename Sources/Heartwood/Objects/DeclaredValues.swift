extension EntityDescription {
  /// Returns the initial values of a new object, which are determined by creating an instance of
  /// the class.
  ///
  /// If the entity has no class, the method returns the initial values recorded in the store's
  /// model.
  func declaredValues() throws -> [StoredValue] {
    try evaluating(properties.map(\.initialValue)) { $0.isAttribute }
  }

  /// Returns the initial values of another new object.
  ///
  /// Only those values that can differ between objects, such as `UUID()`, are evaluated again.
  ///
  /// - Parameter declared: The result of ``declaredValues()``.
  func initialValues(_ declared: [StoredValue]) throws -> [StoredValue] {
    hasVolatileDefaults ? try evaluating(declared, where: \.isVolatile) : declared
  }

  /// Returns a copy of `values` in which the selected properties have the values of a newly created
  /// object.
  private func evaluating(
    _ values: [StoredValue], where isSelected: (PropertyDescription) -> Bool
  ) throws -> [StoredValue] {
    guard let type = type as? ManagedObject.Type else { return values }
    let object = type.init()
    return try zip(properties, values).map { property, value in
      isSelected(property) ? try object.storedValue(property) : value
    }
  }
}
