extension StoredObjects {
  /// An object of an entity, with the first members of its to-many relationships.
  package struct Row {
    package let id: ManagedObjectID
    /// The values of the attributes, followed by the values of the relationships.
    ///
    /// The order is the same as in ``EntityFacts``.
    package let values: [ObjectValue]
    /// The number of members in each relationship, or 0 for a to-one relationship.
    package let memberCounts: [Int]

    /// The number of the row within its entity.
    package var number: Int64 { id.number.row }
  }

  /// Calls `body` with each object of an entity, in order of row number.
  ///
  /// Objects of subentities are excluded. Only one row is in memory at a time.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of rows.
  ///   - memberLimit: The maximum number of members for each to-many relationship of a row.
  package func forEachRow(
    of facts: EntityFacts, limit: Int, memberLimit: Int, _ body: (Row) throws -> Void
  ) throws {
    guard limit > 0, let entity = model.schema.entity(named: facts.name) else { return }
    let storage = model.storage(of: entity)
    let view = try StoreView(snapshot, model)
    let slots = Dictionary(entity.properties.map { ($0.name, $0.slot) }) { first, _ in first }
    let attributes = facts.attributes.compactMap { slots[$0.name] }.map { entity.properties[$0] }
    var count = 0
    try view.objects(storage)?.forEach { key, value in
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyComponent())
      let stored = try value.withRecord(storage.layouts) { try storage.values($0) }
      var values = attributes.map { ObjectValue(stored[$0.slot], $0, nil, model.space) }
      var memberCounts: [Int] = []
      for property in entity.relationships {
        if property.isReference {
          values.append(ObjectValue(stored[property.slot], property, nil, model.space))
          memberCounts.append(0)
        } else {
          let keyspace = model.memberKeyspace(property, of: entity)
          let (members, total) = try view.firstNumbers(memberLimit, in: keyspace, of: number)
          values.append(.objects(members.map { ManagedObjectID($0, model.space) }))
          memberCounts.append(total)
        }
      }
      let id = ManagedObjectID(number, model.space)
      try body(Row(id: id, values: values, memberCounts: memberCounts))
      count += 1
      return count < limit
    }
  }
}

extension StoreView {
  /// Returns the first members of an object's to-many relationship, and the total number of
  /// members.
  fileprivate func firstNumbers(
    _ limit: Int, in keyspace: String, of owner: ObjectNumber
  ) throws -> (members: [ObjectNumber], total: Int) {
    guard let reader = try self.keyspace(keyspace) else { return ([], 0) }
    let range = EntryRange([.integer(owner.bits)])
    var members: [ObjectNumber] = []
    var hasMore = false
    try reader.forEach(from: range.lower, upTo: range.upper) { key, value in
      hasMore = members.count == limit
      if !hasMore { members.append(try EntryKey.number(key, value)) }
      return !hasMore
    }
    return (members, hasMore ? try reader.count(range) : members.count)
  }
}
