/// What a deletion entails, by the delete rules and what the store holds.
extension RowChanges {
  /// A row to be deleted, and what its object has given up before.
  struct Deletion {
    let change: RowChange
    /// What the references that were set led to, by slot; `nil` for nothing.
    var references: [Int: ObjectNumber?] = [:]
    /// The members that were removed, by slot.
    var removed: [Int: Set<ObjectNumber>] = [:]
    /// Whether delete rules count.
    var followsRules = true
    /// Whether it was reported that objects in memory deny it.
    var isDenied = false
  }

  /// What keeps a row from being deleted, unless it is deleted too.
  struct Denial {
    let error: ObjectGraphError
    let others: [ObjectNumber]
  }

  /// Takes up that a row is to be deleted.
  func delete(_ deletion: Deletion) {
    deletion.change.isDeleted = true
    if known(deletion.change.number) == nil { add(deletion.change) }
    deletions.append(deletion)
  }

  /// Takes up that a row is to be deleted; nothing happens if it is gone.
  func delete(_ number: ObjectNumber) throws {
    if let change = try change(of: number) { delete(Deletion(change: change)) }
  }

  /// Deletes what was taken up, and what that entails; reports each `deniedDelete`.
  func carryOutDeletions() throws {
    var position = 0
    while position < deletions.count {
      try carryOut(deletions[position])
      position += 1
    }
    for denial in denials where try denial.others.contains(where: { try exists($0) }) {
      report(denial.error)
    }
    denials = []
  }

  private func carryOut(_ deletion: Deletion) throws {
    let (number, storage) = (deletion.change.number, deletion.change.storage)
    guard let before = deletion.change.before else { return }
    for property in storage.entity.relationships {
      let rule = property.options.deleteRule ?? .nullify
      guard rule != .noAction else { continue }
      let others = try related(number, storage, property, before)
      if deletion.followsRules, rule != .nullify {
        let kept = others.filter { !hasGivenUp($0, property, deletion) }
        if rule == .deny {
          guard !deletion.isDenied else { continue }
          denials.append(
            Denial(error: storage.entity.denial(property, of: id(number)), others: kept))
        } else {
          for other in kept where !spared.contains(other) { try delete(other) }
        }
      }
      guard let inverse = storage.entity.inverses[property.slot] else { continue }
      for other in others { try forget(number, at: other, inverse.property) }
    }
    try derived.note(number, storage.entity, before: before, after: nil)
    try rows.delete(number, storage, before)
  }

  /// Whether the object of a row that is deleted was not related to another one any more, or the
  /// other one leads elsewhere after the save.
  ///
  /// It still is if what took the other one away gives way: its deletion, or the edit of its
  /// reference.
  private func hasGivenUp(
    _ other: ObjectNumber, _ property: PropertyDescription, _ deletion: Deletion
  ) -> Bool {
    if spared.contains(other) { return false }
    if let inverse = deletion.change.storage.entity.inverses[property.slot]?.property {
      if hasYielded(other, inverse.slot) { return false }
      let number = deletion.change.number
      if inverse.isReference, let change = known(other), change.target(inverse.slot) != number {
        return true
      }
    }
    if let removed = deletion.removed[property.slot] { return removed.contains(other) }
    return deletion.references[property.slot].map { $0 == other } ?? false
  }

  /// The objects at the other end of a relationship, as the store has them.
  private func related(
    _ number: ObjectNumber, _ storage: EntityStorage, _ property: PropertyDescription,
    _ values: [StoredValue]
  ) throws -> [ObjectNumber] {
    if case .toOne = property.kind { return values[property.slot].reference.map { [$0] } ?? [] }
    return try rows.numbers(
      in: model.memberKeyspace(property, of: storage.entity), of: number)
  }

  /// Has the other side of a relationship forget a row that is deleted.
  private func forget(
    _ number: ObjectNumber, at other: ObjectNumber, _ property: PropertyDescription
  ) throws {
    guard let change = try change(of: other) else { return }
    guard case .toMany(let isOrdered) = property.kind else {
      if change.target(property.slot) == number { change.redirect(property.slot, to: nil) }
      return
    }
    if isOrdered {
      lists.leave(other, property.slot, number)
    } else {
      change.touched.insert(property.slot)
      if model.listsMembers(property, of: change.storage.entity) {
        let keyspace = model.memberKeyspace(property, of: change.storage.entity)
        try rows.changeEdges(keyspace, other, [number], areAdded: false)
      }
    }
    derived.note(other)
  }
}

extension EntityDescription {
  /// Says that an object cannot be deleted because of those that a relationship leads to.
  func denial(_ property: PropertyDescription, of id: ManagedObjectID) -> ObjectGraphError {
    var denial = ObjectGraphError(
      .deniedDelete,
      "A \(name) cannot be deleted while its \(property.name) are there. Delete those, or take "
        + "them out of it.", property: property.name, objectID: id)
    denial.entityName = name
    return denial
  }
}
