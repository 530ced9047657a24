import Foundation

/// Applies imported rows to the objects of entities without classes.
struct StoredImport {
  private var run: BatchRun
  /// The objects that are not written yet, by their unique values.
  private var pending: [Key: ObjectNumber] = [:]
  private(set) var report = ImportReport()

  private struct Key: Hashable {
    let entity: Int
    let slot: Int
    let value: StoredValue
  }

  /// What happened to an element.
  private enum Outcome { case inserted, updated, unchanged }

  /// The number of changes that are written together.
  private static let flushCount = 256

  init(_ run: BatchRun) { self.run = run }

  /// Applies one element.
  mutating func apply(_ row: ImportedRow, matching property: PropertyDescription) throws {
    switch try object(of: row, matching: property).outcome {
    case .inserted: report.insertedCount += 1
    case .updated: report.updatedCount += 1
    case .unchanged: report.unchangedCount += 1
    }
    if run.changes.list.count >= Self.flushCount { try flush() }
  }

  /// Reports an element that cannot be decoded.
  mutating func refuse(_ position: Int, _ error: any Error) {
    report.refuse(position, ImportReport.path(of: error, position), error)
  }

  /// Writes the changes that are not written yet.
  mutating func flush() throws {
    try run.flush()
    pending = [:]
  }

  /// Ends the import.
  mutating func finish() throws {
    try flush()
    try run.changes.finish()
  }

  // MARK: Objects

  private mutating func object(
    of row: ImportedRow, matching property: PropertyDescription
  ) throws -> (number: ObjectNumber, outcome: Outcome) {
    let (change, isNew) = try change(
      of: row.plan.entity, with: row.key(property), of: property)
    let before = change.after
    for (property, value) in row.attributes
    where !change.storage.entity.derived.contains(where: { $0.slot == property.slot }) {
      change.after[property.slot] = value
      change.assigned.insert(property.slot)
    }
    if isNew { try requireValues(of: change, row) }
    var isChanged = !change.after.isIdentical(to: before)
    for (property, targets) in row.targets {
      let numbers = try targets.map { try target($0) }
      if try relate(change, property, to: numbers) { isChanged = true }
    }
    return (change.number, isNew ? .inserted : isChanged ? .updated : .unchanged)
  }

  /// Returns the change to the object with a unique value, or that of a new object.
  private mutating func change(
    of entity: EntityDescription, with value: StoredValue, of property: PropertyDescription
  ) throws -> (change: RowChange, isNew: Bool) {
    guard
      let index = entity.indexes.first(where: { $0.isUnique && $0.slots == [property.slot] }),
      property.fieldStorageType != .decimal, !EntryKey.isShortened([value], isUnique: true)
    else {
      throw ObjectGraphError(
        .unknownProperty,
        "Objects cannot be found by this value of \(entity.name).\(property.name). Use an "
          + "attribute that is unique by itself, and no decimal number or very long string.")
    }
    let key = Key(entity: index.entity.position, slot: property.slot, value: value)
    let number =
      try pending[key] ?? run.view.number(in: run.model.keyspace(index), [value])
    if let number, let known = try run.changes.change(of: number) {
      // An entity can share a unique constraint with others that inherit the attribute.
      guard known.storage.entity.isKind(of: entity) else {
        throw index.conflict(ManagedObjectID(number, run.model.space))
      }
      return (known, false)
    }
    guard !entity.isAbstract else {
      throw ObjectGraphError(
        .unknownEntity, "\(entity.name) is abstract, so no new object can be created.")
    }
    let storage = run.model.storage(of: entity)
    var values = entity.properties.map(\.initialValue)
    values[property.slot] = value
    let change = RowChange(
      try run.rows.nextNumber(storage), storage, before: nil, after: values)
    change.isNew = true
    run.changes.add(change)
    pending[key] = change.number
    return (change, true)
  }

  /// Throws an error if a new object lacks a value that its attribute requires.
  private func requireValues(of change: RowChange, _ row: ImportedRow) throws {
    for property in change.storage.entity.columns where change.after[property.slot].isNull {
      guard case .attribute(_, isOptional: false) = property.kind,
        !change.storage.entity.derived.contains(where: { $0.slot == property.slot })
      else { continue }
      throw row.missing(
        row.plan.key(of: property),
        "A new \(change.storage.entity.name) needs a value of \(property.name), because the store "
          + "records no value for new objects.")
    }
  }

  private mutating func target(
    _ target: ImportedRow.Target
  ) throws -> ObjectNumber {
    switch target {
    case .number(let number): return number
    case .key(let plan, let property, let value):
      let row = ImportedRow(plan, attributes: [(property, value)], targets: [])
      return try object(of: row, matching: property).number
    case .row(let row):
      return try object(of: row, matching: row.uniqueProperty()).number
    }
  }

  // MARK: Relationships

  /// Sets a relationship, and returns whether it had other targets.
  private func relate(
    _ change: RowChange, _ property: PropertyDescription, to targets: [ObjectNumber]
  ) throws -> Bool {
    guard case .toMany(let isOrdered) = property.kind else {
      let before = change.target(property.slot)
      change.after[property.slot] = targets.first.map { .integer($0.bits) } ?? .null
      change.edited.insert(property.slot)
      return before != targets.first
    }
    var known: Set<ObjectNumber> = []
    let targets = targets.filter { known.insert($0).inserted }
    let keyspace = run.model.memberKeyspace(property, of: change.storage.entity)
    let members = try run.rows.numbers(in: keyspace, of: change.number)
    guard isOrdered ? members != targets : Set(members) != known else { return false }
    let present = Set(members)
    var edit = MemberEdit()
    edit.added = targets.filter { !present.contains($0) }
    edit.removed = members.filter { !known.contains($0) }
    if isOrdered { (edit.mine, edit.base) = (targets, members) }
    change.members[property.slot] = edit
    guard let inverse = change.storage.entity.inverses[property.slot]?.property,
      inverse.isReference
    else { return true }
    for number in edit.added {
      guard let member = try run.changes.change(of: number) else { continue }
      member.after[inverse.slot] = .integer(change.number.bits)
      member.edited.insert(inverse.slot)
    }
    for number in edit.removed {
      guard let member = try run.changes.change(of: number),
        member.target(inverse.slot) == change.number
      else { continue }
      member.after[inverse.slot] = .null
      member.edited.insert(inverse.slot)
    }
    return true
  }
}
