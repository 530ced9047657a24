/// A migration task that moves a store's relationships to the keyspaces used by a new model.
///
/// References stay in the fields of their records. Lists of members and of referring objects are
/// built in new keyspaces. The old keyspaces are removed after all new keyspaces have been built. A
/// new relationship is filled from its inverse if the store already has the inverse.
struct RelationshipMigration {
  let step: MigrationStep

  /// Two related objects: the owner of a relationship, and one of its targets.
  typealias Pair = (own: ObjectNumber, other: ObjectNumber)

  func run() throws {
    for storage in step.model.entities {
      guard let known = step.known(storage) else { continue }
      for (property, old) in kept(storage, known) { try convert(property, storage, old, known) }
      let numbers = Set(storage.propertyNumbers.values)
      for old in known.properties where !numbers.contains(old.number) {
        try forget(old, of: known)
      }
    }
    // Collect all related objects before rewriting any row, because they are read from rows in the
    // old format.
    let fillings = try step.model.entities.flatMap { storage in
      try storage.entity.relationships.compactMap { try filling($0, storage) }
    }
    for filling in fillings { try fill(filling) }
    for storage in step.model.entities {
      guard let known = step.known(storage) else { continue }
      for (property, old) in kept(storage, known) where step.losesTargets(old) {
        try forgetRemoved(property, storage)
      }
    }
  }

  /// Returns the relationships that an entity already had in the store, with their old
  /// descriptions.
  private func kept(
    _ storage: EntityStorage, _ known: StoredModel.StoredEntity
  ) -> [(property: PropertyDescription, old: StoredModel.StoredProperty)] {
    storage.entity.relationships.compactMap { property in
      storage.propertyNumbers[property.slot].flatMap { known.property($0) }.map { (property, $0) }
    }
  }

  private func keyspace(_ name: String) throws -> KeyspaceWriter {
    try step.transaction.keyspace(name)
  }

  // MARK: Reading the old relationships

  /// Calls `body`, in batches, with the pairs of objects that a relationship connected before the
  /// migration.
  ///
  /// The owners of the pairs are the objects of `entity`, in ascending order.
  private func forEachOld(
    _ old: StoredModel.StoredProperty, of entity: StoredModel.StoredEntity,
    _ body: ([Pair]) throws -> Void
  ) throws {
    if case .toOne = old.kind { return try forEachReference(old.number, of: entity, body) }
    guard let name = old.ends?.keyspace else { return }
    let first = ObjectNumber(entity: entity.number, row: 0)
    let rows = RowsKeyspace.transaction(try keyspace(name))
    try rows.forEachBatch(from: EntryKey.key([.integer(first.bits)])) { key, value, batch in
      let own = ObjectNumber(bits: try Key.decode(key, as: Int64.self, Int64.self).0)
      guard own.entity == entity.number else { return false }
      batch.append((own, try EntryKey.number(key, value)))
      return true
    } _: {
      try body($0)
    }
  }

  /// Calls `body`, in batches, with each object of `entity` and the target of its reference
  /// `property`.
  ///
  /// Objects without a target are skipped. Each record is decoded with the layout that was used to
  /// write it.
  private func forEachReference(
    _ property: UInt16, of entity: StoredModel.StoredEntity, _ body: ([Pair]) throws -> Void
  ) throws {
    let stored = step.stored.entity(entity.number) ?? entity
    let layouts = stored.recordLayouts
    let fields = layouts.map { $0.fields.firstIndex { $0.property == property } }
    let rows = RowsKeyspace.transaction(try keyspace("objects.\(entity.number)"))
    try rows.forEachBatch(from: Key(0)) { key, value, batch in
      let own = ObjectNumber(entity: entity.number, row: try key.lastKeyComponent())
      try value.withRecord(layouts) { record in
        guard let field = fields[record.layoutNumber],
          case .integer(let bits) = try record.value(field)
        else { return }
        batch.append((own, ObjectNumber(bits: bits)))
      }
      return true
    } _: {
      try body($0)
    }
  }

  private func exists(_ number: ObjectNumber) throws -> Bool {
    guard let storage = step.model.storage(of: number) else { return false }
    return try keyspace(storage.keyspace).withValue(number.row) { _ in } != nil
  }

  // MARK: Converting

  /// Moves a relationship's entries for all objects of one entity to a new keyspace.
  private func convert(
    _ property: PropertyDescription, _ storage: EntityStorage, _ old: StoredModel.StoredProperty,
    _ known: StoredModel.StoredEntity
  ) throws {
    let name = storage.relationshipKeyspaces[property.slot]
    guard name != old.ends?.keyspace else { return }
    var count = try ProgressCount(.relationships, storage, step)
    if case .toOne = property.kind {
      if let name {
        let edges = try keyspace(name)
        try forEachOld(old, of: known) { pairs in
          for pair in pairs { try put(edges, pair.other, pair.own) }
          count.add(from: pairs.lazy.map(\.own))
        }
      }
    } else if let name, storage.entity.listsMembers(property) {
      var list = MemberList(try keyspace(name), property)
      try forEachOld(old, of: known) { pairs in
        for pair in pairs where try exists(pair.other) { try list.put(pair) }
        count.add(from: pairs.lazy.map(\.own))
      }
    }
    try forget(old, of: known)
  }

  private func put(
    _ edges: KeyspaceWriter, _ first: ObjectNumber, _ second: ObjectNumber
  ) throws {
    try edges.put(EntryKey.key([.integer(first.bits), .integer(second.bits)]), [])
  }

  // MARK: Removing

  /// Deletes a removed entity's relationship entries from the keyspaces that other entities still
  /// use.
  func forget(_ entity: StoredModel.StoredEntity) throws {
    for property in entity.properties { try forget(property, of: entity) }
  }

  /// Deletes a relationship's entries for `entity` from the old keyspace if the new model still
  /// uses that keyspace.
  ///
  /// A keyspace that is no longer used is deleted as a whole at the end of the step.
  private func forget(
    _ old: StoredModel.StoredProperty, of entity: StoredModel.StoredEntity
  ) throws {
    guard let name = old.ends?.keyspace, step.stored.relationshipKeyspaces.contains(name) else {
      return
    }
    // If the inverse is a to-one relationship, the keyspace belongs to the inverse. Skip it,
    // because its entries are deleted together with the inverse.
    if case .toMany = old.kind, name.hasPrefix("edges.") { return }
    let entries = try keyspace(name)
    if case .toOne = old.kind {
      return try forEachOld(old, of: entity) { pairs in
        for pair in pairs {
          try entries.delete(EntryKey.key([.integer(pair.other.bits), .integer(pair.own.bits)]))
        }
      }
    }
    try forEachKey(of: entity, in: entries) { keys in
      for key in keys { try entries.delete(key.key) }
    }
  }

  private func forEachKey(
    of entity: StoredModel.StoredEntity, in entries: KeyspaceWriter,
    _ body: ([(key: Key, other: ObjectNumber)]) throws -> Void
  ) throws {
    let first = ObjectNumber(entity: entity.number, row: 0)
    try RowsKeyspace.transaction(entries)
      .forEachBatch(from: EntryKey.key([.integer(first.bits)])) { key, value, batch in
        let own = ObjectNumber(bits: try Key.decode(key, as: Int64.self, Int64.self).0)
        guard own.entity == entity.number else { return false }
        batch.append((try Key(encoded: key.copy), try EntryKey.number(key, value)))
        return true
      } _: {
        try body($0)
      }
  }

  /// Deletes all references through `property` from an entity's objects to objects of removed
  /// entities.
  private func forgetRemoved(
    _ property: PropertyDescription, _ storage: EntityStorage
  ) throws {
    guard let stored = step.stored.entity(storage.number),
      let now = storage.propertyNumbers[property.slot].flatMap({ stored.property($0) })
    else { return }
    let name = storage.relationshipKeyspaces[property.slot]
    if case .toOne = property.kind {
      return try forEachOld(now, of: stored) { pairs in
        for pair in pairs where step.stored.entity(pair.other.entity) == nil {
          try setReference(property, storage, pair.own, nil)
          guard let name else { continue }
          try keyspace(name).delete(
            EntryKey.key([.integer(pair.other.bits), .integer(pair.own.bits)]))
        }
      }
    }
    guard let name, storage.entity.listsMembers(property) else { return }
    let entries = try keyspace(name)
    try forEachKey(of: stored, in: entries) { found in
      for entry in found where step.stored.entity(entry.other.entity) == nil {
        try entries.delete(entry.key)
      }
    }
  }

  /// Changes a reference in a row.
  ///
  /// The row keeps its version, so that conflict detection ignores the change.
  private func setReference(
    _ property: PropertyDescription, _ storage: EntityStorage, _ number: ObjectNumber,
    _ target: ObjectNumber?
  ) throws {
    let objects = try keyspace(storage.keyspace)
    let row = try objects.withValue(number.row) { value in
      try value.withRecord(storage.layouts) { ($0.version, try storage.values($0)) }
    }
    guard let (version, before) = row else { return }
    var values = before
    if target != nil, !values[property.slot].isNull {
      throw ObjectGraphError(
        .incompatibleSchema,
        "\(storage.entity.name).\(property.name) can refer to only one object, but several "
          + "objects in the store refer to the same \(storage.entity.name) through the inverse "
          + "relationship. Make \(storage.entity.name).\(property.name) a to-many relationship, or "
          + "open the store with the previous model and remove all but one of these references.",
        objectID: ManagedObjectID(number, step.model.space))
    }
    values[property.slot] = target.map { .integer($0.bits) } ?? .null
    try objects.put(number.row, storage.record(values, version: version))
  }

  // MARK: Filling

  /// A new relationship that must be filled, and a temporary keyspace with the pairs of objects
  /// that the relationship connects.
  ///
  /// The pairs were collected from the inverse relationship.
  private struct Filling {
    let property: PropertyDescription
    let storage: EntityStorage
    /// The name of the temporary keyspace, whose entries are sorted by owner and then by member.
    let sorted: String
  }

  /// Collects the related objects of a new relationship from its inverse.
  ///
  /// - Returns: `nil` if the relationship does not need to be filled.
  private func filling(
    _ property: PropertyDescription, _ storage: EntityStorage
  ) throws -> Filling? {
    guard storage.entity.declaring(property) === storage.entity,
      let inverse = storage.entity.inverses[property.slot],
      !storage.entity.family.contains(where: { had(property, $0) })
    else { return nil }
    // A relationship without its own keyspace uses the keyspace of its inverse, so it does not need
    // to be filled.
    if case .toMany = property.kind, !storage.entity.listsMembers(property) { return nil }
    let sorted = "heartwood.sorting.\(storage.number).\(property.slot)"
    let entries = try keyspace(sorted)
    for other in inverse.entity.declaring(inverse.property).family {
      let there = step.model.storage(of: other)
      guard let known = step.known(there),
        let old = there.propertyNumbers[inverse.property.slot].flatMap({ known.property($0) })
      else { continue }
      var count = try ProgressCount(.relationships, there, step)
      try forEachOld(old, of: known) { pairs in
        for pair in pairs where try exists(pair.other) {
          try put(entries, pair.other, pair.own)
        }
        count.add(from: pairs.lazy.map(\.own))
      }
    }
    return Filling(property: property, storage: storage, sorted: sorted)
  }

  private func fill(_ filling: Filling) throws {
    let property = filling.property
    let entries = try filling.storage.relationshipKeyspaces[property.slot].map { try keyspace($0) }
    var list = entries.map { MemberList($0, property) }
    let sorted = RowsKeyspace.transaction(try keyspace(filling.sorted))
    try sorted.forEachBatch(from: EntryKey.key([.integer(.min)])) { key, _, batch in
      let pair = try Key.decode(key, as: Int64.self, Int64.self)
      batch.append((ObjectNumber(bits: pair.0), ObjectNumber(bits: pair.1)))
      return true
    } _: { (pairs: [Pair]) in
      for pair in pairs {
        if case .toOne = property.kind {
          guard let own = step.model.storage(of: pair.own) else { continue }
          try setReference(property, own, pair.own, pair.other)
          if let entries { try put(entries, pair.other, pair.own) }
        } else {
          try list?.put(pair)
        }
      }
    }
    try step.transaction.removeKeyspace(filling.sorted)
  }

  /// Returns whether an entity in the store already had the relationship `property` before the
  /// step.
  private func had(_ property: PropertyDescription, _ entity: EntityDescription) -> Bool {
    let storage = step.model.storage(of: entity)
    guard let known = step.known(storage), let number = storage.propertyNumbers[property.slot]
    else {
      return false
    }
    return known.property(number) != nil
  }
}

/// A writer that stores the members of a to-many relationship, one owner after another.
private struct MemberList {
  private let entries: KeyspaceWriter
  private let isOrdered: Bool
  private var owner: ObjectNumber?
  private var position: Int64 = 0

  init(_ entries: KeyspaceWriter, _ property: PropertyDescription) {
    self.entries = entries
    isOrdered = if case .toMany(isOrdered: true) = property.kind { true } else { false }
  }

  mutating func put(_ pair: RelationshipMigration.Pair) throws {
    guard isOrdered else {
      let key = EntryKey.key([.integer(pair.own.bits), .integer(pair.other.bits)])
      return try entries.put(key, [])
    }
    position = pair.own == owner ? position + 1 : 0
    owner = pair.own
    try entries.put(
      EntryKey.key([.integer(pair.own.bits), .integer(position)]), EntryKey.value(pair.other))
  }
}

extension MigrationStep {
  /// Returns whether the step removes entities that a relationship could refer to.
  func losesTargets(_ old: StoredModel.StoredProperty) -> Bool {
    old.ends?.targets.contains { stored.entity($0) == nil } ?? false
  }
}
