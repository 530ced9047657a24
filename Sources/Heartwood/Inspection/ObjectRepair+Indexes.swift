extension ObjectRepair {
  /// An index, an entity that it covers, and the slots of the indexed values in that entity.
  private struct Part {
    let index: IndexDescription
    let storage: EntityStorage
    let slots: [Int]
  }

  /// Returns a part for each index and each entity that the index covers, keyed by index keyspace.
  ///
  /// The stored model lists the indexes of each entity, including inherited indexes. The result
  /// therefore does not depend on the declarations.
  private func parts() -> [String: [Part]] {
    var indexes: [String: IndexDescription] = [:]
    for storage in model.entities {
      for index in storage.entity.indexes where index.entity === storage.entity {
        indexes[model.keyspace(index)] = index
      }
    }
    var parts: [String: [Part]] = [:]
    for entity in stored.entities {
      guard let storage = model.entities.first(where: { $0.number == entity.number }) else {
        continue
      }
      for name in entity.indexes {
        guard let index = indexes[name] else { continue }
        let names = index.slots.map { index.entity.properties[$0].name }
        let slots = names.compactMap { storage.slot(of: $0) }
        guard slots.count == names.count else { continue }
        parts[name, default: []].append(Part(index: index, storage: storage, slots: slots))
      }
    }
    return parts
  }

  /// Removes the older of two rows that have the same values in a unique index.
  ///
  /// Such duplicates occur only if one of the rows comes from a leaf page that may be out of date.
  func removeDuplicates() throws {
    for (name, parts) in parts().sorted(by: { $0.key < $1.key })
    where parts.contains(where: { $0.index.isUnique }) {
      try store.write { transaction in
        try transaction.removeKeyspace(name)
        for part in parts { try fill(part, name, transaction, removingDuplicates: true) }
      }
    }
  }

  /// Builds all indexes from the rows.
  func rebuildIndexes() throws {
    for (name, parts) in parts().sorted(by: { $0.key < $1.key }) {
      try store.write { transaction in
        try transaction.removeKeyspace(name)
        _ = try transaction.keyspace(name)
        for part in parts { try fill(part, name, transaction, removingDuplicates: false) }
      }
    }
    try rebuildTextIndexes()
  }

  /// Builds the text indexes from the rows.
  ///
  /// Indexes whose tokenizers are unknown are removed instead, and are rebuilt when a program next
  /// opens the store with its own classes.
  private func rebuildTextIndexes() throws {
    var unknown: Set<String> = []
    for storage in model.entities {
      guard let index = storage.entity.textIndex, index.entity === storage.entity else { continue }
      let name = model.keyspace(index)
      try store.write { transaction in
        try transaction.removeKeyspace(name)
        guard index.tokenizer.isKnown else {
          unknown.insert(name)
          return
        }
        for member in index.entity.family.map({ model.storage(of: $0) }) {
          try fill(index, member, transaction)
        }
      }
    }
    if !unknown.isEmpty { forget(unknown) }
  }

  private func fill(
    _ index: TextIndexDescription, _ storage: EntityStorage, _ transaction: WriteTransaction
  ) throws {
    let texts = try TextIndexWriter(
      transaction.keyspace(model.keyspace(index)), index, entity: storage.number)
    let objects = RowsKeyspace.transaction(try transaction.keyspace(storage.keyspace))
    try objects.forEachRow(of: storage) { _, record in
      try index.slots.map { try storage.value($0, record).string }
    } _: { batch in
      for (number, own) in batch { try texts.change(number.row, fromTexts: nil, toTexts: own) }
    }
    try texts.flush()
  }

  /// Removes text indexes from the stored model.
  private func forget(_ names: Set<String>) {
    for position in rebuildable.entities.indices {
      rebuildable.entities[position].indexes.removeAll { names.contains($0) }
    }
    notes.append(
      "Text indexes that use a program's tokenizer are rebuilt when that program first opens the "
        + "store for writing.")
  }

  private func fill(
    _ part: Part, _ name: String, _ transaction: WriteTransaction, removingDuplicates: Bool
  ) throws {
    let entries = try transaction.keyspace(name)
    let storage = part.storage
    let isUnique = part.index.isUnique
    let rows = RowWriter(transaction, model, HistoryWriter.Origin())
    let objects = RowsKeyspace.transaction(try transaction.keyspace(storage.keyspace))
    try objects.forEachRow(of: storage) { _, record in
      (record.version, try part.slots.map { try storage.value($0, record) })
    } _: { batch in
      for (number, (version, values)) in batch {
        guard !isUnique || !values.contains(where: \.isNull) else { continue }
        if isUnique, let owner = try rows.owner(part.index, values, EntryKey.key(values)),
          owner != number
        {
          guard removingDuplicates,
            try remove(older: owner, or: number, version, rows, transaction) == owner
          else { continue }
        }
        try entries.put(
          EntryKey.entry(values, number, isUnique: isUnique),
          isUnique ? EntryKey.value(number) : [])
      }
    }
  }

  /// Removes the older of two rows.
  ///
  /// - Returns: The number of the removed row.
  private func remove(
    older owner: ObjectNumber, or number: ObjectNumber, _ version: UInt64, _ rows: RowWriter,
    _ transaction: WriteTransaction
  ) throws -> ObjectNumber {
    let known = try model.storage(of: owner).flatMap { try rows.row(owner, $0)?.version } ?? 0
    let older = known < version ? owner : number
    if let storage = model.storage(of: older) {
      try transaction.keyspace(storage.keyspace).delete(older.row)
    }
    summary.removedRowCount += 1
    return older
  }
}
