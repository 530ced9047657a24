/// The changes saved by a context in one transaction.
///
/// The request determines the new values of the saved objects. If other contexts have changed an
/// object since this context read it, the merge policy resolves the conflict. ``RowChanges`` then
/// determines the consequences for other rows. Objects are updated only after the commit has
/// succeeded, so a failed save leaves the objects unchanged.
struct SaveRequest {
  /// The effect of a successful commit on an object.
  enum Outcome {
    /// The object was saved, so its values equal those of its row.
    case saved
    /// The object was inserted, and its row was written without a ``RowChange``.
    case inserted
    /// Attributes of the object were updated, and its row was written without a ``RowChange``.
    case updated
    /// The object had no edits, and its row was not written.
    case unchanged
    /// The object must be read again, because another context has changed its row.
    ///
    /// Changes that this context made to the object were not saved.
    case dropped
    /// The object's row no longer exists.
    case deleted
  }

  let context: ManagedObjectContext
  let model: StoreModel
  let policy: MergePolicy
  let base: UInt64
  let rows: RowWriter
  let changes: RowChanges
  /// The permanent numbers of inserted objects, keyed by their current numbers.
  private let numbers = RenumberedObjects()
  var outcomes: [(object: ManagedObject, outcome: Outcome)] = []
  /// The errors for values that cannot be encoded or stored.
  var unstorable: [ObjectGraphError] = []
  /// A Boolean value that indicates whether the last call to `values(of:)` returned null for a
  /// reference whose target has no row.
  private var hasLostReference = false
  /// A Boolean value that indicates whether this save includes an object that other contexts have
  /// changed since this context read it.
  private(set) var isContested = false

  init(_ context: ManagedObjectContext, _ transaction: WriteTransaction) {
    self.context = context
    model = context.model
    policy = context.rootContext.mergePolicy
    base = transaction.base
    rows = RowWriter(transaction, context.model, context.origin)
    changes = RowChanges(rows, context.model, policy.kind)
  }

  /// Writes all changes in the context.
  ///
  /// - Throws: `mergeConflict` or `constraintConflict` with all conflicts, `deniedDelete` if a
  ///   delete rule prevents a deletion, or `validation` if a value cannot be stored.
  mutating func run() throws {
    let inserted = context.inserted
    outcomes.reserveCapacity(inserted.count)
    for object in inserted where object.number.isTemporary {
      numbers.record(
        try rows.nextNumber(model.storage(of: entity(object))), insteadOf: object.number)
    }
    for object in context.watched where !object.hasChanges && !object.isFault {
      _ = try check(object)
    }
    for object in context.deleted { try delete(object) }
    let changesOnlyAttributes = changesOnlyAttributes
    for object in context.updated {
      if changesOnlyAttributes, try updateAttributes(of: object) { continue }
      try update(object)
    }
    for object in inserted { try insert(object) }
    try unstorable.throwAll(.validation, "cannot be stored")
    try changes.write()
    try rows.finish()
  }

  func entity(_ object: ManagedObject) -> EntityDescription { context.entity(of: object) }

  func id(_ object: ManagedObject) -> ManagedObjectID {
    ManagedObjectID(object.number, model.space)
  }

  /// Returns the number that an object's row has after the commit.
  func number(of object: ManagedObject) -> ObjectNumber {
    changes.resolved(numbers.resolved(object.number))
  }

  /// Returns the number that an object's row has after the commit.
  ///
  /// - Parameter number: The object's current number or an earlier number.
  func number(of number: ObjectNumber) -> ObjectNumber {
    let present = context.resolved(number)
    return changes.resolved(numbers.resolved(present))
  }

  /// Returns whether the save has inserted the row with the given number.
  func isNew(_ number: ObjectNumber) -> Bool {
    changes.known(number).map { $0.before == nil } ?? false
  }

  /// The objects on which `didSave` must be called.
  var savedObjects: some Sequence<ManagedObject> {
    outcomes.lazy.filter { $0.outcome != .dropped }.map(\.object)
  }

  // MARK: Object values

  /// Returns the values to store for an object.
  private mutating func values(of object: ManagedObject) -> [StoredValue] {
    hasLostReference = false
    let entity = entity(object)
    return entity.memoryFields.map { field in
      if let value = object.simpleValue(field) { return value }
      let property = entity.properties[field.slot]
      guard property.isReference else { return storedValue(property, of: object) }
      switch object.target(property) {
      case .none: return .null
      case .number(let bits): return reference(to: ObjectNumber(bits: bits))
      case .object(let target):
        // Clear the reference if the target was removed from the context before it was saved. Such
        // an object has no row, even if it was given a permanent number.
        if target.source == nil, target.changes?.wasNew == true {
          hasLostReference = true
          return .null
        }
        return reference(to: target.number)
      }
    }
  }

  private mutating func reference(to number: ObjectNumber) -> StoredValue {
    let row = numbers.resolved(number)
    guard row.isTemporary else { return .integer(row.bits) }
    // The target was removed from the context before it was saved, so record that it has no row.
    hasLostReference = true
    return .null
  }

  /// Returns the edits to an object's to-many relationships.
  private func members(of object: ManagedObject) -> [Int: MemberEdit] {
    guard let members = object.changes?.members, !members.isEmpty else { return [:] }
    var result: [Int: MemberEdit] = [:]
    for (slot, changes) in members {
      var edit = MemberEdit(
        added: changes.added.map { number(of: $0) },
        removed: changes.removed.map { number(of: $0) })
      let property = entity(object).properties[slot]
      if case .toMany(isOrdered: true) = property.kind, let list = object.members(property) {
        // Record the complete list only if the object is new, or if the list was loaded and thus
        // has a base. Otherwise, only the added and removed members are known.
        if object.isInserted || changes.base != nil { edit.mine = list.map { number(of: $0) } }
        edit.base = changes.base?.map { number(of: $0) }
        if changes.hasSameMembers, edit.mine == edit.base { continue }
      } else if changes.hasSameMembers {
        continue
      }
      result[slot] = edit
    }
    return result
  }

  /// Returns the subset of the given slots that contain references.
  private func references(
    _ slots: some Sequence<Int>, _ entity: EntityDescription
  ) -> SlotSet {
    SlotSet(slots.filter { entity.properties[$0].isReference })
  }

  /// Returns the value on which each edit to an object is based, keyed by slot.
  ///
  /// - Parameter mine: The object's current values.
  private func edits(of object: ManagedObject, _ mine: [StoredValue]) -> [Int: StoredValue] {
    guard let changes = object.changes else { return [:] }
    let edits = changes.originals.filter { !$1.isIdentical(to: mine[$0]) }
    guard let earlierState = changes.earlierState else { return edits }
    return edits.merging(earlierState.values.filter { edits[$0.key] != nil }) { $1 }
  }

  // MARK: Conflict resolution

  /// Handles the conflict if another context has changed an object that has no edits in this
  /// context.
  ///
  /// Returns `false` if no other context has changed the object.
  private mutating func check(_ object: ManagedObject) throws -> Bool {
    let row = try rows.row(object.number, model.storage(of: entity(object)))
    guard row?.version != object.version else { return false }
    if policy.kind == .error { conflict(object, isDeleted: row == nil) }
    outcomes.append((object, row == nil ? .deleted : .dropped))
    return true
  }

  private func conflict(_ object: ManagedObject, isDeleted: Bool) {
    let (change, remedy) =
      isDeleted
      ? ("deleted", "Delete the object here as well, roll back") : ("changed", "Refresh the object")
    changes.report(
      ObjectGraphError(
        .mergeConflict,
        "This \(entity(object).name) was \(change) in another context after this context had "
          + "read it. \(remedy), or set a mergePolicy.", objectID: id(object)))
  }

  private mutating func insert(_ object: ManagedObject) throws {
    let entity = entity(object)
    let (number, storage) = (numbers.resolved(object.number), model.storage(of: entity))
    if context.fastPaths.areOn, model.isIsolated(entity), try rows.put(number, storage, object) {
      context.fastPaths.insertionCount += 1
      return outcomes.append((object, .inserted))
    }
    let change = RowChange(number, storage, before: nil, after: values(of: object))
    change.isNew = true
    change.isOfObject = true
    change.isAdjusted = hasLostReference
    change.reportedNumber = object.number
    if let assigned = object.changes?.assigned { change.assigned = assigned }
    for property in change.storage.pairings where !change.after[property.slot].isNull {
      change.edited.insert(property.slot)
    }
    change.members = members(of: object)
    checkValues(of: change)
    changes.add(change)
    outcomes.append((object, .saved))
  }

  private mutating func delete(_ object: ManagedObject) throws {
    let storage = model.storage(of: entity(object))
    guard let row = try rows.row(object.number, storage) else {
      changes.recordMissing(object.number)
      // Another context has already deleted the row. Treat the save as contested, so that this
      // context refreshes any other objects that still refer to the deleted object.
      isContested = true
      return outcomes.append((object, .deleted))
    }
    // Keep the row, which now exists again, if the object was marked as deleted only because its
    // row could not be found.
    if object.isInaccessible { return keepRow(of: object) }
    if row.version != object.baseVersion, object.version != 0 {
      isContested = true
      switch policy.kind {
      case .error: return conflict(object, isDeleted: false)
      case .storeTrump, .rollback: return keepRow(of: object)
      case .overwrite: break
      case .objectTrump:
        let mine = originals(of: object)
        guard try !keeps(object, base: mine, theirs: row.values) else { return keepRow(of: object) }
      }
    }
    let denials = context.denials(of: object)
    for denial in denials { changes.report(denial) }
    let change = RowChange(object.number, storage, before: row.values, after: row.values)
    var deletion = RowChanges.Deletion(change: change, isDenied: !denials.isEmpty)
    for (slot, value) in object.changes?.originals ?? [:]
    where storage.entity.properties[slot].isReference {
      deletion.references[slot] = .some(value.reference)
    }
    for (slot, members) in object.changes?.members ?? [:] {
      deletion.removed[slot] = Set(members.removed.map { number(of: $0) })
    }
    changes.delete(deletion)
    outcomes.append((object, .deleted))
  }

  /// Records that the deletion of an object was overridden in a conflict.
  private mutating func keepRow(of object: ManagedObject) {
    changes.protect(object.number)
    outcomes.append((object, .dropped))
  }

  /// Returns the values that an object had when it was read.
  private mutating func originals(of object: ManagedObject) -> [StoredValue] {
    var values = values(of: object)
    for (slot, value) in object.baseValues { values[slot] = value }
    return values
  }

  private mutating func update(_ object: ManagedObject) throws {
    let storage = model.storage(of: entity(object))
    let mine = values(of: object)
    let isWithoutReference = hasLostReference
    let edits = edits(of: object, mine)
    let members = members(of: object)
    guard !edits.isEmpty || !members.isEmpty else {
      if context.watched.contains(object), try check(object) { return }
      return outcomes.append((object, .unchanged))
    }
    let row = try rows.row(object.number, storage)
    let isOther = row?.version != object.baseVersion
    if isOther { isContested = true }
    if isOther, policy.kind == .error { return conflict(object, isDeleted: row == nil) }
    // A fault has no values except its edits, so it cannot be written as a new row.
    let isLost = row == nil && (policy.kind == .storeTrump || object.isFault)
    if isOther, policy.kind == .rollback || isLost {
      changes.recordLostEdits(of: object.number, references(edits.keys, storage.entity))
      return outcomes.append((object, row == nil ? .deleted : .dropped))
    }
    var after = mine
    var edited = references(edits.keys, storage.entity)
    if isOther, let row {
      (after, edited) = merge(object, edits, mine, row.values)
    }
    if isOther, policy.resolve != nil {
      guard try resolve(object, edits, mine, row?.values, &after, &edited) else {
        return try performDeletion(object, storage, row?.values)
      }
    }
    let change = RowChange(
      object.number, storage, before: row?.values, after: after, version: row?.version ?? 0)
    change.isOfObject = true
    change.edited = edited
    change.members = members
    change.isAdjusted = isWithoutReference || !after.isIdentical(to: mine)
    checkValues(of: change)
    changes.add(change)
    outcomes.append((object, .saved))
  }

  /// Deletes the row of an object, as requested by a custom policy.
  private mutating func performDeletion(
    _ object: ManagedObject, _ storage: EntityStorage, _ row: [StoredValue]?
  ) throws {
    if let row {
      let change = RowChange(object.number, storage, before: row, after: row)
      changes.delete(RowChanges.Deletion(change: change))
    }
    outcomes.append((object, .deleted))
  }

  /// Merges an object's values with those of its row according to the merge policy.
  ///
  /// This method is called when other contexts have changed the row.
  ///
  /// - Returns: The merged values, and the slots of the references that keep this context's edits.
  private func merge(
    _ object: ManagedObject, _ edits: [Int: StoredValue], _ mine: [StoredValue],
    _ theirs: [StoredValue]
  ) -> (after: [StoredValue], edited: SlotSet) {
    // Merge a fault's edits even if the policy is `overwrite`, because a fault has no values except
    // its edits, so all other values must come from the row.
    if policy.kind == .overwrite, !object.isFault {
      return (mine, references(edits.keys, entity(object)))
    }
    let winsAll = policy.kind == .objectTrump || policy.kind == .overwrite
    var after = theirs
    var won: [Int] = []
    var lost: [Int] = []
    for (slot, base) in edits {
      // If the policy prefers this context's edits, ignore an edit whose value equals its base.
      // Such an edit is possible, because the base may be older than the version that was read.
      let isWon =
        winsAll ? !mine[slot].isIdentical(to: base) : theirs[slot].isIdentical(to: base)
      if isWon {
        after[slot] = mine[slot]
        won.append(slot)
      } else {
        lost.append(slot)
      }
    }
    changes.recordLostEdits(of: object.number, references(lost, entity(object)))
    return (after, references(won, entity(object)))
  }
}
