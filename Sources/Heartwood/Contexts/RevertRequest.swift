/// Makes rows what they were in a generation, in one transaction.
struct RevertRequest {
  private struct Row {
    let number: ObjectNumber
    let storage: EntityStorage
    let before: [StoredValue]?
    let after: [StoredValue]?
    let lists: Set<Int>
  }

  private let model: StoreModel
  private let rows: RowWriter
  private var derived: DerivedRows
  private let target: StoreView
  private let changed: [Row]
  private(set) var changes: ChangeSet

  /// Finds out what is to be written.
  ///
  /// - Throws: `unknownEntity` if rows differ for which the model has no class.
  init(
    _ transaction: WriteTransaction, to snapshot: Snapshot, _ model: StoreModel,
    _ origin: HistoryWriter.Origin
  ) throws {
    var difference = RowDifference(model)
    try transaction.changes(to: snapshot) { try difference.note($0) }
    guard difference.unknownKeyspaces.isEmpty else {
      throw ObjectGraphError(
        .unknownEntity,
        "Objects have changed for which the model has no class. Revert with the model that has "
          + "them.")
    }
    let rows = RowWriter(transaction, model, origin)
    let target = try StoreView(snapshot, model)
    let changed = try difference.numbers.compactMap { number -> Row? in
      guard let storage = model.storage(of: number) else { return nil }
      return Row(
        number: number, storage: storage, before: try rows.row(number, storage)?.values,
        after: try target.withRecord(number, storage) { try storage.values($0) },
        lists: difference.lists[number] ?? [])
    }
    self.model = model
    self.rows = rows
    self.target = target
    self.changed = changed.filter { $0.before != nil || $0.after != nil }
    derived = DerivedRows(rows, model)
    changes = ChangeSet(
      generation: QueryGenerationToken(generation: snapshot.token), stores: [model.space.store])
  }

  /// Writes it.
  mutating func run() throws {
    // Values that one row gives up are taken by another.
    for row in changed where row.after != nil {
      try rows.removeEntries(row.number, row.storage, row.before)
    }
    for row in changed where row.after == nil {
      guard let before = row.before else { continue }
      try derived.note(row.number, row.storage.entity, before: before, after: nil)
      try rows.delete(row.number, row.storage, before)
      note(row, after: nil)
    }
    for row in changed {
      guard let after = row.after else { continue }
      try rows.putReferences(row.number, row.storage, after, before: row.before)
      for slot in row.lists { try putMembers(of: row, slot) }
    }
    for row in changed {
      guard let after = row.after else { continue }
      let values = try derive(after, row)
      try rows.put(
        row.number, row.storage, values, before: row.before, lists: row.lists)
      note(row, after: values)
    }
    // Only where the model computes something otherwise than it did then, this finds anything.
    for row in changed where row.after != nil {
      try derived.note(row.number, row.storage.entity, before: row.before, after: row.after)
      derived.note(row.number)
    }
    try derived.finish()
    try rows.finish()
  }

  private mutating func note(_ row: Row, after: [StoredValue]?) {
    changes.note(
      row.number, row.storage, model, before: row.before, after: after, lists: row.lists)
  }

  /// The values of a row with what the model computes from it now; times stay as they were.
  private func derive(_ values: [StoredValue], _ row: Row) throws -> [StoredValue] {
    var result = values
    try derived.deriveOwn(&result, row.number, row.storage)
    for attribute in row.storage.entity.derived
    where attribute.attribute == nil && attribute.relationship == nil {
      result[attribute.slot] = values[attribute.slot]
    }
    return result
  }

  private func putMembers(of row: Row, _ slot: Int) throws {
    let entity = row.storage.entity
    let property = entity.properties[slot]
    // Those that the other side refers to one by one were put with the references.
    guard model.listsMembers(property, of: entity) else { return }
    let keyspace = model.memberKeyspace(property, of: entity)
    let after = try target.numbers(in: keyspace, [.integer(row.number.bits)])
    if case .toMany(isOrdered: true) = property.kind {
      return try rows.putList(keyspace, row.number, after)
    }
    let before = try rows.numbers(in: keyspace, of: row.number)
    let (kept, wanted) = (Set(before), Set(after))
    try rows.changeEdges(
      keyspace, row.number, before.filter { !wanted.contains($0) }, areAdded: false)
    try rows.changeEdges(
      keyspace, row.number, after.filter { !kept.contains($0) }, areAdded: true)
  }
}
