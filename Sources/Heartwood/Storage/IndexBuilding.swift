/// Brings the indexes of a store up to a model: makes entries for those that are new, and removes
/// those that no class declares any more.
struct IndexBuilding {
  let model: StoreModel
  /// What the store had; `nil` if it is new.
  let before: StoredModel?
  /// Keyspaces of indexes whose rows have other values now.
  let changed: Set<String>

  /// Rows that are taken up at a time.
  private static let batchCount = 10_000

  func run(_ transaction: WriteTransaction) throws {
    guard let before else { return }
    var gone = Set(before.entities.flatMap(\.indexes))
    for storage in model.entities {
      for index in storage.entity.indexes where index.entity === storage.entity {
        let name = model.keyspace(index)
        if gone.remove(name) != nil {
          guard changed.contains(name) else { continue }
          try transaction.removeKeyspace(name)
        }
        for member in storage.entity.family {
          try build(index, model.storage(of: member), transaction)
        }
      }
    }
    // Of entities that this program does not know nothing is said, so theirs stay.
    let known = Set(model.entities.map(\.number))
    let others = before.entities.filter { !known.contains($0.number) }.flatMap(\.indexes)
    for name in gone.subtracting(others) { try transaction.removeKeyspace(name) }
  }

  private func build(
    _ index: IndexDescription, _ storage: EntityStorage, _ transaction: WriteTransaction
  ) throws {
    let entries = try transaction.keyspace(model.keyspace(index))
    let objects = try transaction.keyspace(storage.keyspace)
    var next: Int64? = 0
    while let first = next {
      var batch: [(number: ObjectNumber, values: [StoredValue])] = []
      next = nil
      try objects.forEach(from: Key(first)) { key, value in
        let row = try key.lastKeyPart()
        guard batch.count < Self.batchCount else {
          next = row
          return false
        }
        let values = try value.withRecord(storage.layouts) { try storage.values($0) }
        batch.append(
          (ObjectNumber(entity: storage.number, row: row), index.slots.map { values[$0] }))
        return true
      }
      for (number, values) in batch { try put(number, values, index, entries) }
    }
  }

  private func put(
    _ number: ObjectNumber, _ values: [StoredValue], _ index: IndexDescription,
    _ entries: KeyspaceWriter
  ) throws {
    guard index.isUnique else {
      return try entries.put(EntryKey.key(values + [.integer(number.bits)]), [])
    }
    guard !values.contains(.null) else { return }
    let key = EntryKey.key(values)
    guard try entries.get(key) == nil else {
      let names = index.slots.map { index.entity.properties[$0].name }.joined(separator: ", ")
      throw ObjectGraphError(
        .incompatibleSchema,
        "\(index.entity.name) cannot be unique by \(names): the store has several with the same. "
          + "Open it with the model as it was, and change all but one of them.",
        objectID: ManagedObjectID(number, model.space))
    }
    try entries.put(key, EntryKey.value(number))
  }
}
