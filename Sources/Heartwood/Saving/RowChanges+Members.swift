/// The edits to member lists, in the order in which the lists were encountered.
struct ListEdits {
  struct Key: Hashable {
    let owner: ObjectNumber
    let slot: Int
  }

  /// One side of the connection between two objects: `owner` and a member of its relationship.
  struct Edge: Hashable {
    let owner: ObjectNumber
    let slot: Int
    let member: ObjectNumber
  }

  struct Edit {
    var joined: [ObjectNumber] = []
    var left: Set<ObjectNumber> = []
  }

  private(set) var keys: [Key] = []
  private var edits: [Key: Edit] = [:]

  subscript(key: Key) -> Edit { edits[key] ?? Edit() }

  /// Adds a list whose order may have changed, without recording any added or removed members.
  ///
  /// If the list is already included, this method has no effect.
  mutating func include(_ owner: ObjectNumber, _ slot: Int) {
    let key = Key(owner: owner, slot: slot)
    guard edits[key] == nil else { return }
    edits[key] = Edit()
    keys.append(key)
  }

  mutating func add(_ owner: ObjectNumber, _ slot: Int, _ member: ObjectNumber) {
    include(owner, slot)
    edits[Key(owner: owner, slot: slot)]?.joined.append(member)
  }

  mutating func remove(_ owner: ObjectNumber, _ slot: Int, _ member: ObjectNumber) {
    include(owner, slot)
    edits[Key(owner: owner, slot: slot)]?.left.insert(member)
  }
}

/// Methods that write to-many relationships, keep both sides consistent, and merge changes to the
/// order of lists.
extension RowChanges {
  /// Adds and removes members on both sides of each relationship, and writes the order of ordered
  /// relationships.
  ///
  /// - Precondition: ``resolveReferences()`` has been called.
  func writeMembers() throws {
    guard affectsRelationships else { return }
    for change in list where !change.isDeleted {
      try rows.putReferences(
        change.number, change.storage, change.after, before: change.before)
    }
    let joined = joinedEdges()
    for position in list.indices where !list[position].isDeleted {
      let change = list[position]
      for (slot, edit) in change.members.sorted(by: { $0.key < $1.key }) {
        try link(change, change.storage.entity.properties[slot], edit, joined)
      }
    }
    for key in lists.keys { try writeList(key) }
  }

  /// Returns an edge for each added member and, if the relationship has an inverse, the reverse
  /// edge.
  ///
  /// The edges are needed only if a new object was merged into an existing row. In this case, one
  /// edit may remove a member under the new object's number while another edit adds the same member
  /// under the row's number. Such a member must not be removed. If no object was merged, the result
  /// is empty.
  private func joinedEdges() -> Set<ListEdits.Edge> {
    var result: Set<ListEdits.Edge> = []
    guard !replaced.isEmpty else { return result }
    for change in list where !change.isDeleted {
      for (slot, edit) in change.members {
        let inverse = change.storage.entity.inverses[slot]?.property
        for member in edit.added.map(resolved) {
          result.insert(.init(owner: change.number, slot: slot, member: member))
          guard let inverse else { continue }
          result.insert(.init(owner: member, slot: inverse.slot, member: change.number))
        }
      }
    }
    return result
  }

  private func link(
    _ change: RowChange, _ property: PropertyDescription, _ edit: MemberEdit,
    _ joined: Set<ListEdits.Edge>
  ) throws {
    guard case .toMany(let isOrdered) = property.kind else { return }
    if isOrdered { lists.include(change.number, property.slot) }
    let inverse = change.storage.entity.inverses[property.slot]
    // Skip a one-to-many relationship, because its members are determined by their references,
    // which have already been written.
    if case .toOne = inverse?.property.kind { return }
    for (members, joins) in [(edit.removed, false), (edit.added, true)] {
      for member in members.map(resolved) {
        let edge = ListEdits.Edge(owner: change.number, slot: property.slot, member: member)
        if !joins, joined.contains(edge) { continue }
        let other = try self.change(of: member)
        guard other != nil || !joins else { continue }
        try link(change, property, member, joins: joins)
        if let other, let inverse {
          try link(other, inverse.property, change.number, joins: joins)
        }
      }
    }
  }

  /// Adds a member to one side of a relationship if `joins` is `true`; otherwise, removes the
  /// member from that side.
  private func link(
    _ change: RowChange, _ property: PropertyDescription, _ member: ObjectNumber, joins: Bool
  ) throws {
    guard case .toMany(isOrdered: true) = property.kind else {
      let keyspace = model.memberKeyspace(property, of: change.storage.entity)
      // Write nothing if another context has already made the same change.
      guard try rows.hasEdge(keyspace, change.number, member) != joins else { return }
      change.touched.insert(property.slot)
      derived.mark(change.number)
      return try rows.changeEdges(keyspace, change.number, [member], areAdded: joins)
    }
    if joins {
      lists.add(change.number, property.slot, member)
    } else {
      lists.remove(change.number, property.slot, member)
    }
  }

  private func writeList(_ key: ListEdits.Key) throws {
    guard let change = try change(of: key.owner) else { return }
    let property = change.storage.entity.properties[key.slot]
    let keyspace = model.memberKeyspace(property, of: change.storage.entity)
    let theirs = try rows.numbers(in: keyspace, of: change.number)
    let edit = lists[key]
    let joined = Set(edit.joined)
    let own = change.members[key.slot]
    let merge = ListMerge(
      base: own?.base, theirs: theirs, mine: own?.mine?.map(resolved),
      prefersMine: policy != .storeTrump)
    // Append new members in the order of the owner's edit, which also contains members that were
    // added from their side of the relationship.
    let added = own?.added.map(resolved).filter { joined.contains($0) } ?? []
    let result = merge.merged(theirs.filter { !edit.left.contains($0) } + added + edit.joined)
    guard result != theirs else { return }
    change.touched.insert(key.slot)
    derived.mark(change.number)
    try rows.putList(keyspace, change.number, result, before: theirs)
  }
}
