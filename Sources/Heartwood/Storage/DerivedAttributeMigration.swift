/// A migration task that recomputes derived attributes in existing rows if the migration adds the
/// attributes or changes how they are derived.
struct DerivedAttributeMigration {
  let step: MigrationStep

  /// Rewrites the rows in which derived attributes change.
  func run() throws {
    for storage in step.model.entities {
      let new = try changed(storage)
      if !new.isEmpty { try derive(new, storage) }
    }
  }

  /// Returns the derived attributes that must be recomputed in an entity's rows.
  ///
  /// An attribute must be recomputed if its derivation is new or has changed, or if its source
  /// objects may belong to entities that the migration removes. A new entity has no rows yet, so
  /// none of its attributes need to be recomputed.
  func changed(_ storage: EntityStorage) throws -> [DerivedAttribute] {
    guard let known = step.known(storage), let own = step.stored.entity(storage.number) else {
      return []
    }
    // Skip attributes that contain the time of a save, because the times of past saves are unknown.
    return try storage.entity.derived.filter { derived in
      let signature = try step.stored.signature(of: derived, in: own)
      guard !derived.isTime, known.derived?.contains(signature) == true else {
        return !derived.isTime
      }
      return derived.relationship.flatMap { storage.propertyNumbers[$0.slot] }
        .flatMap { known.property($0) }.map { step.losesTargets($0) } ?? false
    }
  }

  private func derive(_ attributes: [DerivedAttribute], _ storage: EntityStorage) throws {
    let rows = RowWriter(step.transaction, step.model, HistoryWriter.Origin())
    let values = DerivedValues(rows, step.model)
    let objects = try step.transaction.keyspace(storage.keyspace)
    var count = try ProgressCount(.derivedAttributes, storage, step)
    try step.objects(storage).forEachRow(of: storage) { _, record in
      (record.version, try storage.values(record))
    } _: { batch in
      for (number, (version, before)) in batch {
        var after = before
        for derived in attributes {
          after[derived.slot] = try values.value(of: derived, number, after, storage) {
            try values.rows.row($0, $1)?.values
          }
        }
        guard !after.isIdentical(to: before) else { continue }
        try objects.put(number.row, storage.record(after, version: version))
      }
      count.add(batch.count)
    }
  }
}
