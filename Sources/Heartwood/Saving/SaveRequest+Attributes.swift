/// A fast path for updates that affect only attributes of the updated rows.
extension SaveRequest {
  /// A Boolean value that indicates whether the updates in this save neither affect nor depend on
  /// other rows.
  ///
  /// The updated rows can then be written one by one, without determining consequences. If the save
  /// also inserts objects, their entities must be isolated. Otherwise, a new object could be merged
  /// into an updated row, or replace that row as the target of a one-to-one relationship.
  var changesOnlyAttributes: Bool {
    guard context.fastPaths.areOn, policy.resolve == nil, !model.hasDerived,
      context.deleted.isEmpty, context.inserted.allSatisfy({ model.isIsolated(entity($0)) })
    else { return false }
    return context.updated.allSatisfy { object in
      guard let changes = object.changes else { return true }
      let slots = model.storage(of: entity(object)).independentSlots
      return changes.members.isEmpty && changes.originals.keys.allSatisfy(slots.contains)
    }
  }

  /// Writes the row of an object whose attributes have changed.
  ///
  /// - Returns: `false` if nothing was written and ``update(_:)`` must handle the object. This is
  ///   the case if no value has changed, another context has changed the row, a value cannot be
  ///   stored, or the object is a fault.
  /// - Precondition: ``changesOnlyAttributes`` is `true`.
  mutating func updateAttributes(of object: ManagedObject) throws -> Bool {
    guard let originals = object.changes?.originals, !object.isFault else { return false }
    let storage = model.storage(of: entity(object))
    guard try rows.version(object.number, storage) == object.baseVersion,
      try rows.putAttributes(object.number, storage, object, originals)
    else { return false }
    context.fastPaths.updateCount += 1
    outcomes.append((object, .updated))
    return true
  }
}
