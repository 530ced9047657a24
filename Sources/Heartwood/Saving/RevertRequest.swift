/// A request that reverts rows to an earlier generation in one transaction.
struct RevertRequest {
  private let model: StoreModel
  private let rows: RowWriter
  private let changes: RowChanges
  private let target: StoreView
  private let difference: RowDifference
  private let generation: QueryGenerationToken

  /// Creates a request, and finds the rows that differ from those in `snapshot`.
  ///
  /// - Throws: `unknownEntity` if a changed row belongs to a class that is not in the model, or
  ///   `incompatibleSchema` if the store or the generation has a different model.
  init(
    _ transaction: WriteTransaction, to snapshot: Snapshot, _ model: StoreModel,
    _ origin: HistoryWriter.Origin
  ) throws {
    try model.requireCurrent(.transaction(transaction.keyspace(StoredModel.keyspace)))
    target = try StoreView(snapshot, model)
    var difference = RowDifference(model)
    try transaction.changes(to: snapshot) { try difference.record($0) }
    guard difference.unknownKeyspaces.isEmpty else {
      throw ObjectGraphError(
        .unknownEntity,
        "Objects have changed since the given generation, but their classes are missing from the "
          + "schema. Add these classes to the schema, reopen the store, and try again.")
    }
    self.model = model
    self.difference = difference
    rows = RowWriter(transaction, model, origin)
    changes = RowChanges(rows, model, .overwrite, keepsTimes: true)
    generation = QueryGenerationToken(generation: snapshot.token)
  }

  /// Writes the reverted rows, and returns the resulting changes.
  func run() throws -> ChangeSet {
    for number in difference.numbers {
      guard let storage = model.storage(of: number) else { continue }
      let before = try rows.row(number, storage)?.values
      let after = try target.withRecord(number, storage) { try storage.values($0) }
      guard let after else {
        if let before { delete(RowChange(number, storage, before: before, after: before)) }
        continue
      }
      changes.add(try change(number, storage, before, after))
    }
    try changes.write()
    try rows.finish()
    var result = ChangeSet(generation: generation, stores: [model.space.store])
    for change in changes.list where change.isDeleted || change.isEffective {
      result.record(
        change.number, change.storage, model, before: change.before,
        after: change.isDeleted ? nil : change.after, lists: change.touched)
    }
    return result
  }

  /// Adds the deletion of a row that did not exist in the target generation.
  ///
  /// Delete rules do not apply, because the related rows are reverted too.
  private func delete(_ change: RowChange) {
    changes.delete(RowChanges.Deletion(change: change, followsRules: false))
  }

  private func change(
    _ number: ObjectNumber, _ storage: EntityStorage, _ before: [StoredValue]?,
    _ after: [StoredValue]
  ) throws -> RowChange {
    let change = RowChange(number, storage, before: before, after: after)
    change.edited = SlotSet(storage.references.map(\.slot))
    for slot in difference.lists[number] ?? [] {
      let property = storage.entity.properties[slot]
      let keyspace = model.memberKeyspace(property, of: storage.entity)
      let theirs = try rows.numbers(in: keyspace, of: number)
      let mine = try target.numbers(in: keyspace, [.integer(number.bits)])
      let (kept, wanted) = (Set(theirs), Set(mine))
      change.members[slot] = MemberEdit(
        added: mine.filter { !kept.contains($0) }, removed: theirs.filter { !wanted.contains($0) },
        mine: mine, base: theirs)
    }
    return change
  }
}
