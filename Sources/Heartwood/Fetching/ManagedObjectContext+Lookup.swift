extension ManagedObjectContext {
  /// Loads and returns the object with the given unique value, or returns `nil` if there is none.
  ///
  /// ```swift
  /// let quake = try context.existingObject(where: \Quake.code, equals: "nc73275410")
  /// ```
  ///
  /// The method returns the same object as a fetch with this condition, but is faster because there
  /// is no predicate to resolve.
  ///
  /// - Parameters:
  ///   - keyPath: An attribute that has a unique constraint of its own, not only one that it shares
  ///     with other attributes.
  ///   - value: The value to find. If the value is `nil`, no object is found.
  /// - Throws: `unknownProperty` if the attribute is not unique; any error from reading rows;
  ///   ``faultError``.
  /// - Complexity: Reads one index entry and one row. Each call first processes the changes since
  ///   the previous call, so finding or creating n objects takes O(n log n) time.
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
    guard let index = entity.uniqueIndex(of: property) else {
      throw ObjectGraphError(
        .unknownProperty,
        "\(entity.name).\(property.name) has no unique constraint of its own. Declare "
          + "Unique(\\\(entity.name).\(property.name)), or fetch with a predicate.")
    }
    let wanted = try value.storedValue
    // No object matches: unique indexes have no entries for `nil`, and NaN does not equal any
    // value.
    if wanted.isNull || wanted.isNotANumber { return nil }
    try mergeAutomatically()
    return try object(with: wanted, of: property, index) { $0 is M } as? M
  }

  /// Loads and returns an entity's object with the given unique value, or returns `nil` if there is
  /// no such object.
  ///
  /// Unlike in predicates, NaN equals NaN.
  ///
  /// - Throws: `unknownProperty` if the attribute is not unique by itself; any error from reading
  ///   rows.
  func existingObject(
    of entity: EntityDescription, with value: StoredValue, of property: PropertyDescription
  ) throws -> ManagedObject? {
    guard let index = entity.uniqueIndex(of: property) else {
      throw ObjectGraphError(
        .unknownProperty,
        "Objects cannot be looked up by \(entity.name).\(property.name), because the attribute has "
          + "no unique constraint of its own. Use an attribute that has one.")
    }
    return try object(with: value, of: property, index) { object in
      object.entityDescription?.isKind(of: entity) == true
    }
  }

  private func object(
    with value: StoredValue, of property: PropertyDescription, _ index: IndexDescription,
    where isWanted: (ManagedObject) -> Bool
  ) throws -> ManagedObject? {
    let found: ManagedObject?
    if parent == nil, !hasOwnChanges {
      found = try storedObject(with: value, index)
    } else {
      // Return the first object in fetch order, because several objects can have the value until a
      // save rejects them.
      found = try objects(with: value, of: property, index).filter(isWanted)
        .min { $0.number.isCreated(before: $1.number) }
    }
    guard let found, isWanted(found) else { return nil }
    return found
  }

  // MARK: Lookup requests

  /// Returns the unique value that a request looks up, and the index that contains the value.
  ///
  /// Returns `nil` if the request is not a single lookup. A single lookup needs no plan, and
  /// resolving a plan would take longer than the lookup.
  func uniqueLookup<M: ManagedObject>(
    _ request: FetchRequest<M>, _ expression: QueryExpression
  ) throws -> (value: StoredValue, index: IndexDescription)? {
    guard parent == nil, !hasOwnChanges || !request.includesPendingChanges,
      request.isUnsortedAndComplete, ContextLog.level == .off,
      case .comparison(let first, .equal, let second, let options) = expression, options.isEmpty
    else { return nil }
    let entity = try request.entity(in: model.schema)
    let (property, value): (PropertyDescription?, StoredValue)
    switch (first, second) {
    case (.property(.variable(0), let name), .constant(let constant)),
      (.constant(let constant), .property(.variable(0), let name)):
      (property, value) = (name.property(of: entity), constant.value)
    default: return nil
    }
    // Look up only values of these types. Use a fetch for other types, because their values need a
    // conversion or can be represented in several ways.
    switch (property?.fieldStorageType, value) {
    case (.string, .string), (.uuid, .uuid), (.int64, .integer): break
    default: return nil
    }
    guard let property, let index = entity.uniqueIndex(of: property),
      !EntryKey.isShortened([value], isUnique: true)
    else { return nil }
    return (value, index)
  }
}

extension EntityDescription {
  /// Returns the unique index that covers only the given property, or `nil` if there is none.
  fileprivate func uniqueIndex(of property: PropertyDescription) -> IndexDescription? {
    indexes.first { $0.isUnique && $0.slots == [property.slot] }
  }
}

extension QueryProperty {
  /// Returns this property's description in the given entity, or `nil` if the entity does not have
  /// the property.
  fileprivate func property(of entity: EntityDescription) -> PropertyDescription? {
    switch self {
    case .name(let name): entity.properties.first { $0.name == name }
    case .known(let property, let owner): owner === entity ? property : nil
    }
  }
}

extension FetchRequest {
  /// A Boolean value that indicates whether the request has no sort descriptors, limit, offset or
  /// prefetched relationships.
  fileprivate var isUnsortedAndComplete: Bool {
    sortDescriptors.isEmpty && fetchLimit == nil && fetchOffset == 0
      && position == nil && relationshipKeyPathsForPrefetching.isEmpty
  }

  /// Returns whether the request covers the given object's class.
  func includes(_ object: M) -> Bool { includesSubentities || type(of: object) == M.self }
}
