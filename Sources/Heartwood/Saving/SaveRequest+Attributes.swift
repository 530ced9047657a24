/// Writes updates that affect only attributes of the updated rows.
extension SaveRequest {
  /// A Boolean value that indicates whether no update in this save can affect other rows or be
  /// affected by them.
  ///
  /// The updated rows can then be written one by one, and no consequences need to be determined. If
  /// the save also inserts objects, their entities must be isolated, because other new objects may
  /// be merged into the updated rows or take over the partners of these rows.
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
  /// - Returns: `false` if nothing has changed, another context has changed the row, or a value
  ///   cannot be stored. In that case, nothing is written, and ``update(_:)`` must be used instead.
  /// - Precondition: ``changesOnlyAttributes`` is `true`.
  mutating func updateAttributes(of object: ManagedObject) throws -> Bool {
    guard let originals = object.changes?.originals, !object.isFault else { return false }
    let storage = model.storage(of: entity(object))
    guard storage.references.allSatisfy({ object.target($0).hasRow }),
      try rows.version(object.number, storage) == object.version,
      try rows.putAttributes(object.number, storage, object, originals)
    else { return false }
    context.fastPaths.updateCount += 1
    outcomes.append((object, .updated))
    return true
  }
}

extension ToOneTarget {
  /// A Boolean value that indicates whether the target, if there is one, has a saved row.
  fileprivate var hasRow: Bool {
    guard case .object(let target) = self else { return true }
    return !target.number.isTemporary && target.changes?.wasNew != true
  }
}
