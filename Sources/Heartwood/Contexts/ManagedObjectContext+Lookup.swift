extension ManagedObjectContext {
  /// The object that has a unique value, with its values; `nil` if there is none.
  ///
  /// ```swift
  /// let quake = try context.existingObject(where: \Quake.code, is: "nc73275410")
  /// ```
  ///
  /// It finds what a fetch with that condition finds, sooner: there is no predicate to be read.
  ///
  /// - Parameters:
  ///   - keyPath: An attribute that is declared `Unique` by itself.
  ///   - value: What it must be; nothing has the value `nil`.
  /// - Throws: `unknownProperty` if the attribute is not unique; what kept rows from being read;
  ///   ``faultError``.
  /// - Complexity: One entry of the index and one row read. Each object with unsaved changes is
  ///   taken up once, at the first call after it was changed, so to find or create n objects takes
  ///   O(n log n). For an attribute of the type `Decimal` it asks each of them at every call.
  public func existingObject<M: ManagedObject, Value: AttributeValue>(
    where keyPath: KeyPath<M, Value>, is value: Value
  ) throws -> M? {
    confinement?.enter()
    defer { confinement?.leave() }
    if let part = otherPart(for: M.self) {
      return try part.existingObject(where: keyPath, is: value)
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
    // Nothing is equal to what is no number.
    if wanted.isNull || wanted.isNotANumber { return nil }
    // Equal decimal numbers may be written differently, and long texts are not keys.
    guard Value.storedForm != .decimal, !EntryKey.isShortened([wanted], isUnique: true) else {
      var request = FetchRequest<M>(limit: 1)
      request.predicate = QueryPredicate<M>(property, of: entity, is: wanted, Value.storedForm)
      return try fetch(request).first
    }
    try mergeAutomatically()
    let found: M?
    if parent == nil, !hasOwnChanges {
      found = try storedObject(with: wanted, index) as? M
    } else {
      // Where several have it, which a save would refuse, the one that a fetch has first.
      found = try objects(with: wanted, of: property, index).compactMap { $0 as? M }
        .min { $0.number.isMade(before: $1.number) }
    }
    if let found, found.isFault { fire(found) }
    return found
  }
}
