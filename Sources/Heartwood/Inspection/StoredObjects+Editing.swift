/// The difference between two states of an object.
package struct ObjectDifference: Encodable, Sendable {
  package let id: String
  /// The kind of change: `inserted`, `updated` or `deleted`.
  package let operation: String
  /// The values before the change.
  ///
  /// For an inserted object, the property is `nil`. For an updated object, the property contains
  /// only the values that differ.
  package let before: [String: ObjectValue]?
  package let after: [String: ObjectValue]?

  /// A Boolean value that indicates whether the two states are equal.
  package var isEmpty: Bool { before?.isEmpty != false && after?.isEmpty != false }

  package init(
    _ id: ManagedObjectID, _ before: [(name: String, value: ObjectValue)]?,
    _ after: [(name: String, value: ObjectValue)]?
  ) {
    self.id = id.shortText
    operation = before == nil ? "inserted" : after == nil ? "deleted" : "updated"
    var old = before.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } }
    var new = after.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } }
    if let first = old, let second = new {
      old = first.filter { name, value in second[name]?.isSame(as: value) != true }
      new = second.filter { name, value in first[name]?.isSame(as: value) != true }
    }
    (self.before, self.after) = (old, new)
  }
}

extension StoredObjects {
  /// An error that rolls back a transaction whose changes are returned but not committed.
  private struct Discarded: Error {}

  /// Sets an object's attributes and to-one relationships.
  ///
  /// - Parameters:
  ///   - texts: The new values as strings, keyed by name. `nil` represents the absence of a value.
  ///   - commits: Whether to commit the changes instead of only returning them.
  /// - Returns: All objects changed by the call.
  /// - Throws: `unknownProperty` or `constraintConflict`; `validation` if a string does not
  ///   represent a value of the attribute's type; `foreignObject` if there is no such object; any
  ///   error from writing the store.
  package func set(
    _ texts: [(name: String, text: String?)], of id: ManagedObjectID, author: String?,
    commits: Bool
  ) throws -> [ObjectDifference] {
    try edit(author: author, commits: commits) { run in
      guard let change = try run.changes.change(of: id.number) else { throw self.missing(id) }
      for (name, text) in texts {
        let property = try self.property(name, of: change.storage)
        change.after[property.slot] =
          try self.value(text, of: property, change.storage.entity)
        if property.isReference { change.edited.insert(property.slot) }
      }
    }
  }

  /// Deletes an object, and all objects to which its delete rules cascade.
  ///
  /// The parameters and the result are the same as for ``set(_:of:author:commits:)``.
  package func delete(
    _ id: ManagedObjectID, author: String?, commits: Bool
  ) throws -> [ObjectDifference] {
    try edit(author: author, commits: commits) { run in
      guard try run.changes.change(of: id.number) != nil else { throw self.missing(id) }
      run.changes.begin()
      try run.changes.delete(id.number)
    }
  }

  /// Changes rows of the newest generation in one transaction, and returns the differences.
  func edit(
    author: String?, commits: Bool, _ body: (inout BatchRun) throws -> Void
  ) throws -> [ObjectDifference] {
    var differences: [ObjectDifference] = []
    let before = try container.store.snapshot()
    let context = container.newContext()
    context.transactionAuthor = author
    do {
      _ = try context.write { transaction in
        var run = BatchRun(context, transaction)
        try body(&run)
        try run.changes.write()
        // The list now includes the objects whose derived values depend on the changed rows.
        var numbers = Set(run.changes.list.map(\.number))
        numbers.formUnion(run.changes.deletions.map(\.change.number))
        try run.changes.finish()
        differences = try self.differences(
          numbers.sorted(), before, StoreView(transaction, self.model))
        if !commits { throw Discarded() }
      }
    } catch is Discarded {}
    return differences
  }

  private func differences(
    _ numbers: [ObjectNumber], _ before: Snapshot, _ after: StoreView
  ) throws -> [ObjectDifference] {
    let before = try StoreView(before, model)
    return try numbers.compactMap { number in
      let id = ManagedObjectID(number, model.space)
      let difference = ObjectDifference(
        id, try values(of: id, in: before), try values(of: id, in: after))
      return difference.isEmpty ? nil : difference
    }
  }

  private func missing(_ id: ManagedObjectID) -> ObjectGraphError {
    ObjectGraphError(
      .foreignObject,
      "There is no object \(id.shortText) in the newest generation. Use the ID of an "
        + "existing object.",
      objectID: id)
  }

  private func property(
    _ name: String, of storage: EntityStorage
  ) throws -> PropertyDescription {
    let entity = storage.entity
    guard let property = entity.properties.first(where: { $0.name == name }),
      property.fieldStorageType != nil
    else {
      let names = entity.columns.map(\.name).joined(separator: ", ")
      throw ObjectGraphError(
        .unknownProperty,
        "\(entity.name) has no attribute or to-one relationship named \(name). Use one of: "
          + "\(names).")
    }
    guard !entity.isDerived(property) else {
      throw ObjectGraphError(
        .validation,
        "\(entity.name).\(name) is derived from other values, so it cannot be set. Set those "
          + "values instead.")
    }
    return property
  }
}
