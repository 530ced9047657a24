/// Methods that write the entries of relationship keyspaces.
extension RowWriter {
  /// Updates the member lists of the objects to which a row refers through its to-one
  /// relationships.
  func putReferences(
    _ number: ObjectNumber, _ storage: EntityStorage, _ values: [StoredValue],
    before: [StoredValue]?
  ) throws {
    for (slot, name) in model.references(of: storage.entity) {
      let old = before?[slot] ?? .null
      let new = values[slot]
      guard old != new else { continue }
      let edges = try keyspace(name)
      if !old.isNull { try edges.delete(EntryKey.key([old, .integer(number.bits)])) }
      if !new.isNull { try edges.put(EntryKey.key([new, .integer(number.bits)]), []) }
    }
  }

  /// Returns the last component of each edge key that belongs to `owner`: a position or an object
  /// number.
  func lastComponents(_ edges: KeyspaceWriter, _ owner: ObjectNumber) throws -> [Int64] {
    let range = EntryRange([.integer(owner.bits)])
    var components: [Int64] = []
    try edges.forEach(from: range.lower, upTo: range.upper) { key, _ in
      components.append(try key.lastKeyComponent())
      return true
    }
    return components
  }

  /// Returns the numbers of the objects listed for `object` in a keyspace.
  ///
  /// - Parameter name: The name of an edge keyspace or of an index over a to-one relationship.
  func numbers(in name: String, of object: ObjectNumber) throws -> [ObjectNumber] {
    let range = EntryRange([.integer(object.bits)])
    var numbers: [ObjectNumber] = []
    try keyspace(name).forEach(from: range.lower, upTo: range.upper) { key, value in
      numbers.append(try EntryKey.number(key, value))
      return true
    }
    return numbers
  }

  /// Replaces the members of an ordered relationship, writing only the positions that differ.
  func putList(
    _ name: String, _ owner: ObjectNumber, _ members: [ObjectNumber], before: [ObjectNumber]
  ) throws {
    let edges = try keyspace(name)
    let positions = before.isEmpty ? [] : try lastComponents(edges, owner)
    for (position, member) in members.enumerated() {
      // Compare the stored positions too, because they may have gaps after another context has
      // changed the list.
      if position < before.count, before[position] == member, positions[position] == position {
        continue
      }
      try edges.put(
        EntryKey.key([.integer(owner.bits), .integer(Int64(position))]), EntryKey.value(member))
    }
    for position in positions where position >= members.count {
      try edges.delete(EntryKey.key([.integer(owner.bits), .integer(position)]))
    }
  }

  /// Returns whether an object is listed as a member of an unordered relationship.
  func hasEdge(_ name: String, _ owner: ObjectNumber, _ member: ObjectNumber) throws -> Bool {
    let key = EntryKey.key([.integer(owner.bits), .integer(member.bits)])
    return try keyspace(name).withValue(key) { _ in } != nil
  }

  /// Adds members to the list of an unordered to-many relationship or, if `areAdded` is `false`,
  /// removes them.
  ///
  /// The inverse relationship is not changed.
  func changeEdges(
    _ name: String, _ owner: ObjectNumber, _ members: [ObjectNumber], areAdded: Bool
  ) throws {
    let edges = try keyspace(name)
    for member in members {
      let key = EntryKey.key([.integer(owner.bits), .integer(member.bits)])
      if areAdded { try edges.put(key, []) } else { try edges.delete(key) }
    }
  }
}
