extension ManagedObjectContext {
  /// Loads and returns the object with the given unique value, or returns `nil` if there is none.
  ///
  /// ```swift
  /// let quake = try context.existingObject(where: \Quake.code, equals: "nc73275410")
  /// ```
  ///
  /// The method returns the same object as a fetch with this condition. It is faster because there
  /// is no predicate to resolve.
  ///
  /// - Parameters:
  ///   - keyPath: An attribute that is declared unique by itself, not only in combination with
  ///     others.
  ///   - value: The value to find. For `nil`, no object is found.
  /// - Throws: `unknownProperty` if the attribute is not unique; errors from reading rows;
  ///   ``faultError``.
  /// - Complexity: Reads one index entry and one row. Each object with unsaved changes is processed
  ///   once, at the first call after its change, so finding or creating n objects takes O(n log n).
  ///   For an attribute of type `Decimal`, each call evaluates all objects with unsaved changes.
  public func existingObject<M: ManagedObject, Value: AttributeValue>(
    where keyPath: KeyPath<M, Value>, equals value: Value
  ) throws -> M? {
    confinement?.enter()
    defer { confinement?.leave() }
    if let storeContext = otherStoreContext(for: M.self) {
      return try storeContext.existingObject(where: keyPath, equals: value)
    }
    try requireReadable()
    let entity = try model.schema.requiredEntity(of: M.self)
    let property = try model.schema.property(keyPath, of: entity)
    let index = entity.indexes.first { $0.isUnique && $0.slots == [property.slot] }
    guard let index else {
      throw ObjectGraphError(
        .unknownProperty,
        "No Unique rule covers \(entity.name).\(property.name) alone. Declare "
          + "Unique(\\\(entity.name).\(property.name)), or fetch with a predicate.")
    }
    let wanted = try value.storedValue
    // NaN does not equal any value.
    if wanted.isNull || wanted.isNotANumber { return nil }
    // Use a fetch for decimal numbers, because equal ones may have different representations, and
    // for long strings, because their keys are shortened.
    guard Value.storageType != .decimal, !EntryKey.isShortened([wanted], isUnique: true) else {
      var request = FetchRequest<M>(limit: 1)
      request.predicate = QueryPredicate<M>(property, of: entity, is: wanted, Value.storageType)
      return try fetch(request).first
    }
    try mergeAutomatically()
    let found: M?
    if parent == nil, !hasOwnChanges {
      found = try storedObject(with: wanted, index) as? M
    } else {
      // Several objects can have the value until a save rejects them. Return the first one in fetch
      // order.
      found = try objects(with: wanted, of: property, index).compactMap { $0 as? M }
        .min { $0.number.isCreated(before: $1.number) }
    }
    if let found, found.isFault { fire(found) }
    return found
  }
}
