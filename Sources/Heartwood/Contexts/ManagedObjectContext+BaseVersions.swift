/// Keeps track of the row versions on which edits in child contexts are based (N-05).
///
/// A context retains only objects with unsaved changes. When a child context is saved, the parent
/// may therefore have read a newer version of a row than the child. The parent's object then
/// records the version that the child had read, so that the save of the root context detects the
/// conflict.
extension ManagedObjectContext {
  /// Returns the number of changes that were recorded for an object, or 0 if the object is not
  /// registered or has no changes.
  func changeCount(of number: ObjectNumber) -> Int {
    registeredObject(number)?.changes?.count ?? 0
  }

  /// Records the base of the edits that were pushed to an object of the parent.
  ///
  /// - Parameter count: The number of changes that the parent's object had before the push.
  func recordBase(of object: ManagedObject, in parent: ManagedObjectContext, since count: Int) {
    guard let original = parent.registeredObject(object.number), original.isUpdated,
      original.changes?.count != count
    else { return }
    recordBase(of: object, in: original, object.baseValues)
  }

  /// Records the base of a deletion that was pushed to an object of the parent.
  func recordBase(ofDeleted object: ManagedObject, in original: ManagedObject) {
    guard original.isDeleted, !original.isInaccessible else { return }
    recordBase(of: object, in: original, storedBaseValues(of: object))
  }

  /// Records the version and the values on which changes from this context are based, unless the
  /// parent's object is based on the same or an older version.
  private func recordBase(
    of object: ManagedObject, in original: ManagedObject,
    _ values: @autoclosure () -> [Int: StoredValue]
  ) {
    let version = object.baseVersion
    // If the root context merges automatically, its own edits are kept too.
    guard version != 0, version < original.version, root.autoMerge == nil else { return }
    let changes = original.ownChanges
    var base = changes.earlierState ?? EarlierState(version: version)
    base.version = min(base.version, version)
    for (slot, value) in values() where base.values[slot] == nil {
      let isReference = object.entityDescription?.properties[slot].isReference == true
      base.values[slot] =
        isReference ? value.reference.map { .integer(resolved($0).bits) } ?? .null : value
    }
    changes.earlierState = base
  }

  /// Returns all stored values that an object had when it was read, keyed by slot.
  private func storedBaseValues(of object: ManagedObject) -> [Int: StoredValue] {
    let known = object.baseValues
    var values: [Int: StoredValue] = [:]
    for property in object.entityDescription?.columns ?? [] {
      values[property.slot] = known[property.slot] ?? (try? object.storedValue(property))
    }
    return values
  }

  /// Updates the objects of a row in all descendants of this context, because a save has written
  /// the row.
  ///
  /// The save is not a conflict for these objects, unless they were based on an older version than
  /// the one that the save replaced.
  ///
  /// - Parameters:
  ///   - former: The version of the row before the save, or 0 if there was no row.
  ///   - version: The version that the save has written.
  func updateDescendants(
    _ number: ObjectNumber, replacing former: UInt64, with version: UInt64
  ) {
    for child in children {
      guard let context = child.context else { continue }
      // An object that was new in the parent has no version yet.
      if let object = context.registeredObject(number), !object.isFault,
        object.version == former || object.version == 0
      {
        object.version = version
      }
      context.updateDescendants(number, replacing: former, with: version)
    }
  }
}
