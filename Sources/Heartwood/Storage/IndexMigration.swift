/// A migration task that adapts a store's indexes to a new model.
///
/// The task builds new indexes, rebuilds indexes with outdated entries, and removes indexes that
/// the model no longer contains.
struct IndexMigration {
  let step: MigrationStep
  let derived: DerivedAttributeMigration

  func run() throws {
    for storage in step.model.entities {
      for index in storage.entity.indexes where index.entity === storage.entity {
        try migrate(index)
      }
      if let index = storage.entity.textIndex, index.entity === storage.entity {
        try migrate(index)
      }
    }
    let gone = Set(step.before.entities.flatMap(\.indexes))
      .subtracting(step.stored.entities.flatMap(\.indexes))
    for name in gone { try step.transaction.removeKeyspace(name) }
  }

  private func migrate(_ index: IndexDescription) throws {
    try migrate(step.model.keyspace(index), index.entity, index.slots) { try build(index, $0) }
  }

  private func migrate(_ index: TextIndexDescription) throws {
    try migrate(step.model.keyspace(index), index.entity, index.slots) { try build(index, $0) }
  }

  private func migrate(
    _ name: String, _ entity: EntityDescription, _ slots: [Int],
    build: (EntityStorage) throws -> Void
  ) throws {
    let members = entity.family.map { step.model.storage(of: $0) }
    let covered = Set(step.before.entities.filter { $0.indexes.contains(name) }.map(\.number))
    // Rebuild the index if indexed values change. Also rebuild it if it contains entries for an
    // entity that it no longer covers, because such entries cannot be found individually.
    let coversOnlyMembers = covered.isSubset(of: members.map(\.number))
    if try !covered.isEmpty
      && (!coversOnlyMembers || members.contains(where: { try changes(slots, $0) }))
    {
      try step.transaction.removeKeyspace(name)
      for member in members { try build(member) }
    } else {
      for member in members where !covered.contains(member.number) { try build(member) }
    }
  }

  /// Returns whether the migration changes the indexed values of an entity's rows.
  private func changes(_ slots: [Int], _ storage: EntityStorage) throws -> Bool {
    let derived = Set(try derived.changed(storage).map(\.slot))
    guard let known = step.known(storage) else { return false }
    return slots.contains { slot in
      if derived.contains(slot) { return true }
      let before = storage.propertyNumbers[slot].flatMap { known.property($0) }
      if let before, step.losesTargets(before) { return true }
      guard
        case .attribute(_, isOptional: false) = storage.entity.properties[slot].kind
      else { return false }
      // If the attribute used to be optional, rows that contained `nil` now have the attribute's
      // default value, so the indexed values change.
      return before?.kind.isOptional == true
    }
  }

  private func build(_ index: IndexDescription, _ storage: EntityStorage) throws {
    guard step.known(storage) != nil else { return }
    let entries = try step.transaction.keyspace(step.model.keyspace(index))
    let rows = RowWriter(step.transaction, step.model, HistoryWriter.Origin())
    var count = try ProgressCount(.indexes, storage, step)
    try step.objects(storage).forEachRow(of: storage) { _, record in
      try index.slots.map { try storage.value($0, record) }
    } _: { batch in
      for (number, values) in batch {
        guard !index.isUnique || !values.contains(.null) else { continue }
        if index.isUnique, try rows.owner(index, values, EntryKey.key(values)) != nil {
          throw conflict(number, index)
        }
        try entries.put(
          EntryKey.entry(values, number, isUnique: index.isUnique),
          index.isUnique ? EntryKey.value(number) : [])
      }
      count.add(batch.count)
    }
  }

  private func build(_ index: TextIndexDescription, _ storage: EntityStorage) throws {
    guard step.known(storage) != nil else { return }
    let texts = try TextIndexWriter(
      step.transaction.keyspace(step.model.keyspace(index)), index, entity: storage.number)
    var count = try ProgressCount(.indexes, storage, step)
    try step.objects(storage).forEachRow(of: storage) { _, record in
      try index.slots.map { try storage.value($0, record).string }
    } _: { batch in
      for (number, own) in batch { try texts.change(number.row, fromTexts: nil, toTexts: own) }
      count.add(batch.count)
    }
    try texts.flush()
  }

  private func conflict(_ number: ObjectNumber, _ index: IndexDescription) -> ObjectGraphError {
    let names = index.slots.map { index.entity.properties[$0].name }.joined(separator: ", ")
    return ObjectGraphError(
      .incompatibleSchema,
      "The unique constraint of \(index.entity.name) on \(names) cannot be added, because several "
        + "objects in the store would have the same values. Open the store with the previous "
        + "model, and change or delete all but one of these objects.",
      objectID: ManagedObjectID(number, step.model.space))
  }
}
