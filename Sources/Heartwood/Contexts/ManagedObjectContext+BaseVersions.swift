/// Methods that keep track of the row versions on which edits in child contexts are based (N-05).
///
/// A context retains only objects with unsaved changes. While a child context edits an object, the
/// parent may therefore release the corresponding object and later read a newer version of the row.
/// When the child is saved, the parent's object then records the version that the child had read,
/// so that the save of the root context detects the conflict.
extension ManagedObjectContext {
  /// The unsaved edits that a parent's object has before a child's changes are pushed to it.
  struct EditState {
    /// The number of changes that were recorded for the object, or 0 if the object is not
    /// registered or has no changes.
    var count = 0
    /// The values of the edited properties, keyed by slot.
    ///
    /// The dictionary is empty unless the child's edits are based on an older version of the row
    /// than the parent's object.
    var values: [Int: StoredValue] = [:]
  }

  /// Returns the unsaved edits to the object in this context that corresponds to `object` in a
  /// child context.
  func editState(ofOriginalOf object: ManagedObject) -> EditState {
    guard let original = registeredObject(object.number), let changes = original.changes else {
      return EditState()
    }
    var state = EditState(count: changes.count)
    guard object.baseVersion < original.version else { return state }
    for slot in changes.originals.keys {
      guard let property = original.entityDescription?.properties[slot] else { continue }
      state.values[slot] = try? original.storedValue(property)
    }
    return state
  }

  /// Records the row version and the values on which the edits to `object` are based.
  ///
  /// Call this method after the edits have been pushed to `parent`.
  ///
  /// - Parameter state: The edits that the parent's object had before the push.
  func recordBase(
    of object: ManagedObject, in parent: ManagedObjectContext, since state: EditState
  ) {
    guard let original = parent.registeredObject(object.number), original.isUpdated,
      original.changes?.count != state.count
    else { return }
    recordBase(of: object, in: original, state, object.baseValues)
  }

  /// Records the row version and the values that this context had read before it deleted `object`.
  ///
  /// Call this method after the deletion has been pushed to the parent's `original`.
  func recordBase(
    ofDeleted object: ManagedObject, in original: ManagedObject, since state: EditState
  ) {
    guard original.isDeleted, !original.isInaccessible else { return }
    recordBase(of: object, in: original, state, storedBaseValues(of: object))
  }

  /// Records in `original` the row version and the values on which this context's changes are
  /// based, unless `original` was read from the same or an older version.
  private func recordBase(
    of object: ManagedObject, in original: ManagedObject, _ state: EditState,
    _ values: @autoclosure () -> [Int: StoredValue]
  ) {
    let version = object.baseVersion
    // Record no base if the root context merges automatically, because merging keeps the child's
    // edits, just as it keeps the root context's own edits.
    guard version != 0, version < original.version, root.autoMerge == nil else { return }
    let changes = original.ownChanges
    var base = changes.earlierState ?? EarlierState(version: version)
    base.version = min(base.version, version)
    for (slot, value) in values() where base.values[slot] == nil {
      let isReference = object.entityDescription?.properties[slot].isReference == true
      let read: StoredValue =
        isReference ? value.reference.map { .integer(resolved($0).bits) } ?? .null : value
      // If the child read the parent's unsaved value, do not record that value as the base, because
      // the parent's edit already has a base.
      if state.values[slot]?.isIdentical(to: read) != true { base.values[slot] = read }
    }
    parent?.undoLog?.record(.base(original, changes.earlierState))
    changes.earlierState = base
  }

  /// Restores the earlier states on which the objects' changes are based, after an undo group has
  /// been reverted.
  ///
  /// - Parameters:
  ///   - steps: The reverted steps.
  ///   - former: For each step, the value of its object's `earlierState` before the group was
  ///     reverted.
  func restoreEarlierStates(after steps: [UndoLog.Step], _ former: [EarlierState?]) {
    var recorded: Set<ManagedObject> = []
    for (step, former) in zip(steps, former) {
      let object = step.object
      if case .base(_, let state) = step {
        restore(state, of: object)
      } else if former == nil {
        continue
      }
      // Reverting the steps may have discarded an object's base. Log the former base once for each
      // object, so that it can be restored when this undo or redo is itself reverted.
      if recorded.insert(object).inserted { undoLog?.record(.base(object, former)) }
    }
  }

  private func restore(_ state: EarlierState?, of object: ManagedObject) {
    guard object.hasChanges else { return }
    let changes = object.ownChanges
    changes.earlierState = state
    guard let state, !object.isDeleted else { return }
    changes.earlierState?.values = state.values.filter { changes.originals[$0.key] != nil }
  }

  /// Removes the earlier state on which an object's changes are based.
  ///
  /// Call this method when the object is read again.
  func removeEarlierState(of object: ManagedObject, _ changes: ObjectChanges) {
    guard changes.earlierState != nil else { return }
    changes.earlierState = nil
    undoLog?.forgetBases(of: object)
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

  /// Updates the version of a saved row's object in every descendant of this context.
  ///
  /// Without this update, a descendant's next save would report a conflict with the current save.
  /// An object that is based on a version older than the replaced one is not updated, so that the
  /// conflict is detected.
  ///
  /// - Parameters:
  ///   - former: The version of the row before the save, or 0 if there was no row.
  ///   - version: The version that the save has written.
  func updateDescendants(
    _ number: ObjectNumber, replacing former: UInt64, with version: UInt64
  ) {
    for child in children {
      guard let context = child.context else { continue }
      // The version is 0 if the object was new in the parent when this child read it.
      if let object = context.registeredObject(number), !object.isFault,
        object.version == former || object.version == 0
      {
        object.version = version
      }
      context.updateDescendants(number, replacing: former, with: version)
    }
  }
}
