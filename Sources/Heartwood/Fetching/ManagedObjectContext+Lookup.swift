extension ManagedObjectContext {
  /// Returns the loaded object with a unique value; `nil` if there is none.
  ///
  /// ```swift
  /// let quake = try context.existingObject(where: \Quake.code, equals: "nc73275410")
  /// ```
  ///
  /// It returns the same object as a fetch with that condition, but faster, as there is no
  /// predicate to resolve.
  ///
  /// - Parameters:
  ///   - keyPath: An attribute that is declared `Unique` by itself.
  ///   - value: The value to find; no object is found for `nil`.
  /// - Throws: `unknownProperty` if the attribute is not unique; errors of reading rows;
  ///   ``faultError``.
  /// - Complexity: One index entry and one row read. Each object with unsaved changes is processed
  ///   once, at the first call after its change, so finding or creating n objects takes O(n log n).
  ///   For an attribute of type `Decimal`, each call evaluates all of them.
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
        "\(entity.name).\(property.name) is not unique. Declare Unique(\\\(entity.name)."
          + "\(property.name)), or fetch with a predicate.")
    }
    let wanted = try value.storedValue
    // NaN equals nothing.
    if wanted.isNull || wanted.isNotANumber { return nil }
    // Equal decimal numbers may have different representations, and long strings have shortened
    // keys.
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
      // If several objects have the value, which a save would reject, returns the first in fetch
      // order.
      found = try objects(with: wanted, of: property, index).compactMap { $0 as? M }
        .min { $0.number.isCreated(before: $1.number) }
    }
    if let found, found.isFault { fire(found) }
    return found
  }
}
