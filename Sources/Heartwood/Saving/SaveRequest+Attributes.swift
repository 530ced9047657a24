/// Writes updates that affect only attributes of the updated rows.
extension SaveRequest {
  /// A Boolean value that indicates whether no update in this save can affect other rows or be
  /// affected by them.
  ///
  /// The updated rows can then be written one by one, without determining consequences. A save that
  /// also inserts objects must insert only objects of isolated entities, because other new objects
  /// may be merged into the updated rows or take their partners.
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
  /// - Returns: `false` if ``update(_:)`` must handle the object: no value has changed, another
  ///   context has changed the row, a value cannot be stored, or the object is a fault. In that
  ///   case, nothing is written.
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
