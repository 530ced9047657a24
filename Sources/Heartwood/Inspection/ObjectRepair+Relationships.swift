extension ObjectRepair {
  // MARK: Edges

  /// Builds the keyspaces that list, for each object, the objects that refer to it.
  func rebuildEdges() throws {
    let names = stored.relationshipKeyspaces.filter { $0.hasPrefix("edges.") }
    try store.write { transaction in
      for name in names {
        try transaction.removeKeyspace(name)
        _ = try transaction.keyspace(name)
      }
    }
    for storage in model.entities {
      let references = model.references(of: storage.entity)
      guard !references.isEmpty else { continue }
      try store.write { transaction in
        let objects = RowsKeyspace.transaction(try transaction.keyspace(storage.keyspace))
        try objects.forEachRow(of: storage) { _, record in
          try references.map { try storage.value($0.slot, record) }
        } _: { batch in
          for (number, values) in batch {
            for (reference, value) in zip(references, values) where !value.isNull {
              try transaction.keyspace(reference.keyspace)
                .put(EntryKey.key([value, .integer(number.bits)]), [])
            }
          }
        }
      }
    }
  }

  // MARK: Lists

  /// A to-many relationship with a list of members, as described by the entity that declares it.
  private struct List {
    let keyspace: String
    let isOrdered: Bool
    /// The identifier of the inverse relationship, or `nil` if there is none.
    let inverse: String?
  }

  private typealias Pair = (owner: ObjectNumber, member: ObjectNumber)

  private var lists: [List] {
    var lists: [String: List] = [:]
    for property in stored.entities.flatMap(\.properties) {
      guard case .toMany(let isOrdered) = property.kind, let ends = property.ends,
        let name = ends.keyspace, !name.hasPrefix("edges.")
      else { continue }
      lists[name] = List(keyspace: name, isOrdered: isOrdered, inverse: ends.inverse)
    }
    return lists.values.sorted { $0.keyspace < $1.keyspace }
  }

  /// Removes lost objects from lists, and restores members from inverse relationships.
  func repairLists() throws {
    for list in lists { try removeLostMembers(list) }
    for list in lists where list.inverse != nil { try restoreMembers(list) }
  }

  private func removeLostMembers(_ list: List) throws {
    let references = referenceSlots(list.inverse)
    try store.write { transaction in
      let entries = try transaction.keyspace(list.keyspace)
      let rows = RowWriter(transaction, model, HistoryWriter.Origin())
      try RowsKeyspace.transaction(entries).forEachBatch(from: Self.firstKey) {
        key, value, batch in
        batch.append((Key(unverified: key.copy), Self.pair(key, value)))
        return true
      } _: { (batch: [(key: Key, pair: Pair?)]) in
        for (key, pair) in batch {
          if let pair, try isMember(pair, references, rows) { continue }
          try entries.delete(key)
          summary.removedMemberCount += 1
        }
      }
    }
  }

  /// Decodes an entry of a list, or returns `nil` if the entry is invalid.
  private static func pair(_ key: RawSpan, _ value: RawSpan) -> Pair? {
    guard let owner = key.integerPair?.first,
      let member = try? EntryKey.number(key, value)
    else { return nil }
    return (ObjectNumber(bits: owner), member)
  }

  /// Returns whether both objects exist and, if the inverse is to-one, the member refers to the
  /// owner.
  private func isMember(
    _ pair: Pair, _ references: [Int: Int], _ rows: RowWriter
  ) throws -> Bool {
    guard let own = model.storage(of: pair.owner), try rows.exists(pair.owner, own),
      let other = model.storage(of: pair.member),
      let row = try rows.row(pair.member, other)
    else { return false }
    guard let slot = references[other.number] else { return true }
    return row.values[slot] == .integer(pair.owner.bits)
  }

  /// Returns the slots of the to-one relationship with a given identifier, keyed by entity number.
  private func referenceSlots(_ identifier: String?) -> [Int: Int] {
    guard let identifier else { return [:] }
    var slots: [Int: Int] = [:]
    for entity in stored.entities {
      guard
        let property = entity.properties.first(where: { $0.ends?.declaration == identifier }),
        case .toOne = property.kind,
        let storage = model.entities.first(where: { $0.number == entity.number })
      else { continue }
      slots[entity.number] = storage.slot(of: property.name)
    }
    return slots
  }

  /// Adds the members that are missing from a list but present in the inverse relationship.
  ///
  /// In an ordered list, the method adds these members at the end.
  private func restoreMembers(_ list: List) throws {
    let sorted = "heartwood.sorting.salvage"
    try store.write { transaction in
      let entries = try transaction.keyspace(list.keyspace)
      let known = list.isOrdered ? try transaction.keyspace(sorted) : entries
      if list.isOrdered {
        try RowsKeyspace.transaction(entries).forEachBatch(from: Self.firstKey) {
          key, value, batch in
          if let pair = Self.pair(key, value) { batch.append(pair) }
          return true
        } _: { (pairs: [Pair]) in
          for pair in pairs { try known.put(Self.key(pair), []) }
        }
      }
      try forEachInverse(list, transaction) { pair in
        guard try known.withValue(Self.key(pair), { _ in }) == nil else { return }
        try known.put(Self.key(pair), [])
        summary.restoredMemberCount += 1
        guard list.isOrdered else { return }
        let position = try Self.end(of: pair.owner, in: entries)
        try entries.put(
          EntryKey.key([.integer(pair.owner.bits), .integer(position)]),
          EntryKey.value(pair.member))
      }
      if list.isOrdered { try transaction.removeKeyspace(sorted) }
    }
  }

  private static func key(_ pair: Pair) -> Key {
    EntryKey.key([.integer(pair.owner.bits), .integer(pair.member.bits)])
  }

  /// Returns the position after the last member of an owner's list.
  private static func end(
    of owner: ObjectNumber, in entries: KeyspaceWriter
  ) throws -> Int64 {
    let range = EntryRange([.integer(owner.bits)])
    var position: Int64 = 0
    try entries.forEach(from: range.lower, upTo: range.upper, reversed: true) { key, _ in
      // Cap the position to avoid an overflow, because a damaged file can contain any number.
      position = min(try key.lastKeyComponent(), .max - 1) + 1
      return false
    }
    return position
  }

  /// Calls `body` with the pairs that belong to a list according to the inverse relationship.
  private func forEachInverse(
    _ list: List, _ transaction: WriteTransaction, _ body: (Pair) throws -> Void
  ) throws {
    for (number, slot) in referenceSlots(list.inverse).sorted(by: { $0.key < $1.key }) {
      guard let storage = model.entities.first(where: { $0.number == number }) else { continue }
      let objects = RowsKeyspace.transaction(try transaction.keyspace(storage.keyspace))
      try objects.forEachRow(of: storage) { _, record in
        try storage.value(slot, record)
      } _: { batch in
        for (member, value) in batch {
          if case .integer(let bits) = value { try body((ObjectNumber(bits: bits), member)) }
        }
      }
    }
    let inverses = stored.entities.flatMap(\.properties).filter {
      $0.ends?.declaration == list.inverse
    }
    guard let other = inverses.first, case .toMany = other.kind, let name = other.ends?.keyspace
    else { return }
    let entries = RowsKeyspace.transaction(try transaction.keyspace(name))
    try entries.forEachBatch(from: Self.firstKey) { key, value, batch in
      if let pair = Self.pair(key, value) { batch.append(pair) }
      return true
    } _: { (pairs: [Pair]) in
      for pair in pairs { try body((pair.member, pair.owner)) }
    }
  }
}
