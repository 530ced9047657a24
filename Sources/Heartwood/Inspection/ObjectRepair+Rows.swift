extension ObjectRepair {
  /// Removes an entity's rows that cannot be decoded.
  func removeUnreadableRows(_ storage: EntityStorage) throws {
    try store.write { transaction in
      let objects = try transaction.keyspace(storage.keyspace)
      try RowsKeyspace.transaction(objects).forEachBatch(from: Self.firstKey) {
        key, value, batch in
        let row = try? Key.decode(key, as: Int64.self)
        let isReadable =
          row.map { (0...ObjectNumber.maxRow).contains($0) } ?? false
          && (try? value.withRecord(storage.layouts) { _ = try storage.values($0) }) != nil
        if !isReadable { batch.append(Key(unverified: key.copy)) }
        return true
      } _: { (keys: [Key]) in
        for key in keys { try objects.delete(key) }
        summary.removedRowCount += keys.count
      }
    }
  }

  /// The lowest possible key.
  static var firstKey: Key { Key(Optional<Int>.none) }

  /// Sets references to lost rows to `nil`.
  ///
  /// The rows keep their versions, so conflict detection ignores the change.
  func clearReferences(_ storage: EntityStorage) throws {
    guard !storage.references.isEmpty else { return }
    try store.write { transaction in
      let objects = try transaction.keyspace(storage.keyspace)
      let rows = RowWriter(transaction, model, HistoryWriter.Origin())
      try RowsKeyspace.transaction(objects).forEachRow(of: storage) { _, record in
        (record.version, try storage.values(record))
      } _: { batch in
        for (number, (version, before)) in batch {
          var values = before
          for property in storage.references {
            guard case .integer(let bits) = values[property.slot] else { continue }
            let target = ObjectNumber(bits: bits)
            guard try !isTarget(target, of: property, number, storage, rows) else { continue }
            values[property.slot] = .null
            summary.clearedReferenceCount += 1
          }
          guard !values.isIdentical(to: before) else { continue }
          try objects.put(number.row, storage.record(values, version: version))
        }
      }
    }
  }

  /// Returns whether the target of a reference exists and, if the inverse is to-one, refers back.
  private func isTarget(
    _ target: ObjectNumber, of property: PropertyDescription, _ number: ObjectNumber,
    _ storage: EntityStorage, _ rows: RowWriter
  ) throws -> Bool {
    guard let there = model.storage(of: target), let row = try rows.row(target, there) else {
      return false
    }
    guard let inverse = storage.entity.inverses[property.slot], inverse.property.isReference
    else { return true }
    guard let slot = there.slot(of: inverse.property.name) else { return false }
    return row.values[slot] == .integer(number.bits)
  }

  /// Replaces each next row ID that is lost or too low, so that no row ID is reused.
  func repairRowIDs() throws {
    try store.write { transaction in
      let next = try transaction.keyspace(StoredModel.rowsKeyspace)
      for storage in model.entities {
        var highest: Int64 = 0
        try transaction.keyspace(storage.keyspace).forEach(reversed: true) { key, _ in
          highest = try key.lastKeyComponent()
          return false
        }
        let before = try next.withValue(storage.number) { try? $0.number() } ?? nil
        if let before, before > highest { continue }
        // Leave a gap that is larger than the number of rows that could be missing, because the
        // rows with the highest IDs may also have been lost.
        let row = min(highest + Self.skippedRowCount, ObjectNumber.maxRow)
        var bytes: [UInt8] = []
        bytes.append(littleEndian: row)
        try next.put(storage.number, bytes)
        notes.append(
          "The next row ID of \(storage.entity.name) is lost. New objects get IDs starting at "
            + "\(row).")
      }
    }
  }

  /// The distance from the highest existing row ID to the next row ID, used if the stored next row
  /// ID is lost or too low.
  private static var skippedRowCount: Int64 { 1 << 24 }
}

extension EntityStorage {
  /// Returns the slot of the property with the given name, or `nil` if there is none.
  func slot(of name: String) -> Int? { entity.properties.first { $0.name == name }?.slot }
}

extension RawSpan {
  /// The two components of a key, or `nil` if the key does not consist of two integers.
  var integerPair: (first: Int64, second: Int64)? {
    do {
      let (first, second) = try Key.decode(self, as: Int64.self, Int64.self)
      return (first, second)
    } catch {
      return nil
    }
  }
}
