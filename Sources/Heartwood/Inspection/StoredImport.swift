import Foundation

/// An import of rows into entities that have no classes.
///
/// Each element is applied completely or not at all, so elements that violate a rule of the model
/// can be skipped.
struct StoredImport {
  /// The errors for elements that were applied before they turned out to be invalid, keyed by
  /// position.
  struct LateRefusals: Error {
    let errors: [Int: any Error]
  }

  private var run: BatchRun
  /// The pending changes, keyed by unique value.
  private var owners: RowChanges.Owners = [:]
  /// The state that each pending change had before the current element modified it, keyed by row.
  private var undo: [ObjectNumber: RowChange.Request] = [:]
  /// The relationships to set later, because their target objects do not exist yet.
  private var postponed: [Postponed] = []
  /// A Boolean value that indicates whether all elements have been applied.
  ///
  /// After that, an object that is still missing will never be added.
  private var isComplete = false
  private var report = ImportReport()

  /// A row that is applied at the end of the import, and only sets a relationship.
  private struct Postponed {
    let row: ImportedRow
    let property: PropertyDescription
    let position: Int
  }

  /// The error for a related object that does not exist and cannot be created, because its entity
  /// is unknown.
  private struct Missing: Error {
    let entity: EntityDescription
    let value: StoredValue
  }

  /// The effect that importing an element has on its object.
  private enum Outcome { case inserted, updated, unchanged }

  /// The number of changes that are written together.
  private static let flushCount = 256

  init(_ run: BatchRun) { self.run = run }

  /// Applies one element completely, or changes nothing.
  mutating func apply(
    _ row: ImportedRow, matching property: PropertyDescription, at position: Int
  ) throws {
    try flushRelationships(before: row)
    let postponedCount = postponed.count
    let outcome = try whole { work throws in
      try work.object(of: row, matching: property, position).outcome
    }
    switch outcome {
    case .inserted: report.insertedCount += 1
    case .updated: report.updatedCount += 1
    case .unchanged:
      // If relationships of the object are set in a later step, count the object as updated,
      // because that step may still change it.
      if postponed.count > postponedCount {
        report.updatedCount += 1
      } else {
        report.unchangedCount += 1
      }
    }
    report.ignoredKeys.formUnion(row.ignoredKeys)
    if run.changes.list.count >= Self.flushCount { try flush() }
  }

  /// Reports an element that cannot be imported.
  mutating func refuse(_ position: Int, _ error: any Error) {
    report.refuse(position, ImportReport.path(of: error, position), error)
  }

  /// Sets the postponed relationships, writes all changes, and ends the import.
  ///
  /// - Parameter refuse: A closure that throws an element's error, or returns if invalid elements
  ///   are skipped.
  /// - Throws: ``LateRefusals`` if invalid elements are skipped, and the postponed relationships of
  ///   some elements cannot be set.
  mutating func finish(_ refuse: (Int, any Error) throws -> Void) throws -> ImportReport {
    isComplete = true
    var errors: [Int: any Error] = [:]
    for step in postponed {
      try flushRelationships(before: step.row)
      do {
        _ = try whole { work throws in
          try work.object(of: step.row, matching: step.property, step.position)
        }
      } catch let error as StorageError {
        throw error
      } catch {
        try refuse(step.position, error)
        errors[step.position] = errors[step.position] ?? error
      }
      if run.changes.list.count >= Self.flushCount { try flush() }
    }
    guard errors.isEmpty else { throw LateRefusals(errors: errors) }
    try flush()
    try run.changes.finish()
    return report
  }

  private mutating func flush() throws {
    try run.flush()
    owners = [:]
  }

  /// Writes the pending changes if they may affect the current members of a relationship that `row`
  /// sets.
  ///
  /// To determine which members a row adds and removes, the import reads the members that have
  /// already been written.
  private mutating func flushRelationships(before row: ImportedRow) throws {
    guard row.setsMembers else { return }
    if run.changes.list.contains(where: { !$0.members.isEmpty || !$0.edited.isEmpty }) {
      try flush()
    }
  }

  /// Runs `body`, and undoes its changes if it throws an error.
  private mutating func whole<Result>(
    _ body: (inout StoredImport) throws -> Result
  ) throws -> Result {
    let (count, postponedCount) = (run.changes.list.count, postponed.count)
    undo.removeAll(keepingCapacity: true)
    do { return try body(&self) } catch {
      run.changes.removeChanges(after: count)
      for (number, request) in undo { run.changes.known(number)?.request = request }
      postponed.removeSubrange(postponedCount...)
      owners = [:]
      for change in run.changes.list { claim(change) }
      throw error
    }
  }

  // MARK: Objects

  private mutating func object(
    of row: ImportedRow, matching property: PropertyDescription, _ position: Int
  ) throws -> (number: ObjectNumber, outcome: Outcome) {
    let (change, isNew) = try change(of: row.plan.entity, with: row.key(property), of: property)
    willChange(change)
    let before = change.after
    for (property, value) in row.attributes
    where !change.storage.entity.isDerived(property) {
      change.after[property.slot] = value
      change.assigned.insert(property.slot)
    }
    if isNew { try requireValues(of: change, row) }
    try claimUniqueValues(of: change)
    var isChanged = !change.after.isIdentical(to: before)
    for (relationship, targets) in row.targets {
      do {
        let numbers = try targets.map { try target($0, position) }
        if try relate(change, relationship, to: numbers) { isChanged = true }
      } catch let missing as Missing {
        guard !isComplete else { throw row.missing(missing.entity, missing.value, relationship) }
        let key = (property: property, value: change.after[property.slot])
        let later = ImportedRow(row.plan, attributes: [key], targets: [(relationship, targets)])
        postponed.append(Postponed(row: later, property: property, position: position))
      }
    }
    return (change.number, isNew ? .inserted : isChanged ? .updated : .unchanged)
  }

  /// Returns the change to the object with the given unique value, or to a new object if there is
  /// none.
  private mutating func change(
    of entity: EntityDescription, with value: StoredValue, of property: PropertyDescription
  ) throws -> (change: RowChange, isNew: Bool) {
    if let known = try existing(entity, with: value, of: property) { return (known, false) }
    let change = try run.insert(entity)
    change.after[property.slot] = value
    return (change, true)
  }

  /// Returns the change to the object with the given unique value, or `nil` if there is none.
  private func existing(
    _ entity: EntityDescription, with value: StoredValue, of property: PropertyDescription
  ) throws -> RowChange? {
    guard
      let index = entity.indexes.first(where: { $0.isUnique && $0.slots == [property.slot] }),
      property.fieldStorageType != .decimal
    else {
      throw ObjectGraphError(
        .unknownProperty,
        "Objects cannot be looked up by \(entity.name).\(property.name). Use an attribute that has "
          + "its own unique constraint and is not a decimal number.")
    }
    let key = RowChanges.UniqueKey(index, [value])
    guard let owner = try run.changes.owner(index, [value], key, owners),
      let change = try run.changes.change(of: owner.number)
    else { return nil }
    // Check the row's entity, because other entities that inherit the attribute share its unique
    // constraint.
    guard change.storage.entity.isKind(of: entity) else {
      throw index.conflict([ManagedObjectID(change.number, run.model.space)])
    }
    return change
  }

  /// Throws an error if a new object has no value for a required attribute.
  private func requireValues(of change: RowChange, _ row: ImportedRow) throws {
    for property in change.storage.entity.columns where change.after[property.slot].isNull {
      guard case .attribute(_, isOptional: false) = property.kind,
        !change.storage.entity.isDerived(property)
      else { continue }
      throw row.missing(
        row.plan.key(of: property),
        "A new \(change.storage.entity.name) requires a value for \(property.name), because the "
          + "store does not record a default value for this property. Add the value.")
    }
  }

  private mutating func target(
    _ target: ImportedRow.Target, _ position: Int
  ) throws -> ObjectNumber {
    switch target {
    case .number(let number):
      guard try run.changes.exists(number) else {
        let id = ManagedObjectID(number, run.model.space)
        throw ObjectGraphError(
          .foreignObject,
          "There is no object \(id.shortText). Use the ID of an existing object.")
      }
      return number
    case .key(let plan, let property, let value):
      if let known = try existing(plan.entity, with: value, of: property) { return known.number }
      // Do not guess which subentity is meant, because an object's entity cannot be changed later.
      guard plan.entity.subentities.isEmpty else {
        throw Missing(entity: plan.entity, value: value)
      }
      let row = ImportedRow(plan, attributes: [(property, value)], targets: [])
      return try object(of: row, matching: property, position).number
    case .row(let row):
      return try object(of: row, matching: row.uniqueProperty(), position).number
    }
  }

  // MARK: Changes

  /// Saves a change's state before the current element modifies it.
  private mutating func willChange(_ change: RowChange) {
    if undo[change.number] == nil { undo[change.number] = change.request }
  }

  /// Claims the unique values that a change gives to its row.
  ///
  /// - Throws: `constraintConflict` if another object has one of these values.
  private mutating func claimUniqueValues(of change: RowChange) throws {
    if let before = undo[change.number] {
      for (_, key) in run.changes.uniqueKeys(change.storage, before.after)
      where owners[key] === change {
        owners[key] = nil
      }
    }
    for (position, key) in run.changes.uniqueKeys(change.storage, change.after) {
      if try run.changes.owner(position, key, besides: change, owners) != nil {
        let id = ManagedObjectID(change.number, run.model.space)
        throw change.storage.entity.indexes[position].conflict([id])
      }
    }
    claim(change)
  }

  private mutating func claim(_ change: RowChange) {
    for (_, key) in run.changes.uniqueKeys(change.storage, change.after) { owners[key] = change }
  }

  // MARK: Relationships

  /// Sets the targets of a relationship.
  ///
  /// - Returns: `true` if the targets have changed.
  private mutating func relate(
    _ change: RowChange, _ property: PropertyDescription, to targets: [ObjectNumber]
  ) throws -> Bool {
    let run = run
    return try run.relate(change, property, to: targets) { willChange($0) }
  }
}

extension ImportedRow {
  /// A Boolean value that indicates whether the row or a related row sets the members of a to-many
  /// relationship.
  fileprivate var setsMembers: Bool {
    targets.contains { property, targets in
      !property.isReference
        || targets.contains { target in
          if case .row(let row) = target { row.setsMembers } else { false }
        }
    }
  }
}
