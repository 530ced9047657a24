/// Computes the derived attributes of a store's rows that are new to it, or derived otherwise now.
struct DerivedBuilding {
  let model: StoreModel
  let stored: StoredModel
  /// What the store had; `nil` if it is new.
  let before: StoredModel?

  /// Rows that are taken up at a time.
  private static let batchCount = 10_000

  /// Rewrites the rows.
  ///
  /// - Returns: The keyspaces of the indexes that are to be made anew.
  func run(_ transaction: WriteTransaction) throws -> Set<String> {
    guard let before else { return [] }
    var changed: Set<String> = []
    for storage in model.entities {
      guard let known = before.entities.first(where: { $0.number == storage.number }),
        let own = stored.entities.first(where: { $0.number == storage.number })
      else { continue }
      // What time a row was saved nobody knows any more.
      let new = try storage.entity.derived.filter { derived in
        let sentence = try stored.sentence(derived, own)
        return !derived.isTime && known.derived?.contains(sentence) != true
      }
      guard !new.isEmpty else { continue }
      for index in storage.entity.indexes
      where index.slots.contains(where: { slot in new.contains { $0.slot == slot } }) {
        changed.insert(model.keyspace(index))
      }
      try derive(new, storage, transaction)
    }
    return changed
  }

  private func derive(
    _ attributes: [DerivedAttribute], _ storage: EntityStorage, _ transaction: WriteTransaction
  ) throws {
    let values = DerivedValues(RowWriter(transaction, model, HistoryWriter.Origin()), model)
    let objects = try transaction.keyspace(storage.keyspace)
    var next: Int64? = 0
    while let first = next {
      var batch: [(row: Int64, version: UInt64, values: [StoredValue])] = []
      next = nil
      try objects.forEach(from: Key(first)) { key, value in
        let row = try key.lastKeyPart()
        guard batch.count < Self.batchCount else {
          next = row
          return false
        }
        batch.append(
          try value.withRecord(storage.layouts) { (row, $0.version, try storage.values($0)) })
        return true
      }
      for row in batch {
        var row = row
        let number = ObjectNumber(entity: storage.number, row: row.row)
        for derived in attributes {
          row.values[derived.slot] = try values.value(of: derived, number, row.values, storage) {
            try values.rows.row($0, $1)?.values
          }
        }
        try objects.put(row.row, storage.record(row.values, version: row.version))
      }
    }
  }
}
