/// Methods that update the references of changed rows.
///
/// After the update, no reference points to a missing row, and both ends of each one-to-one
/// relationship agree.
extension RowChanges {
  /// Redirects references whose targets were merged into other rows, and clears references to
  /// missing rows.
  ///
  /// The method also pairs the objects of one-to-one relationships, and marks the objects whose
  /// members change.
  func resolveReferences() throws {
    guard affectsRelationships else { return }
    let hasDeletions = !deletions.isEmpty
    for change in list where !change.isDeleted {
      for property in change.storage.references {
        guard let target = change.target(property.slot) else { continue }
        let row = resolved(target)
        if row != target { change.redirect(property.slot, to: row) }
        let isOther = row != change.targetBefore(property.slot)
        // Check the target of an unchanged reference only if the reference has an inverse, because
        // a deletion does not clear references without an inverse.
        let isSearched = hasDeletions && change.storage.entity.inverses[property.slot] != nil
        guard isSearched || isOther, try !exists(row) else { continue }
        if isOther, policy == .error, known(row) == nil, !missingRows.contains(row),
          !row.isTemporary
        {
          report(danglingReference(change, property))
        }
        change.redirect(property.slot, to: nil)
      }
    }
    try resolvePairs()
    try markChangedMembers()
  }

  /// Clears dangling references that have no inverse, but only in rows that are being written
  /// anyway.
  ///
  /// Deleting a row does not by itself clear such references to it.
  func clearDanglingReferences() throws {
    guard affectsRelationships else { return }
    for change in list where !change.isDeleted && change.isEffective {
      for property in change.storage.oneWayReferences {
        guard let target = change.target(property.slot), try !exists(target) else { continue }
        change.redirect(property.slot, to: nil)
      }
    }
  }

  private func danglingReference(
    _ change: RowChange, _ property: PropertyDescription
  ) -> ObjectGraphError {
    ObjectGraphError(
      .mergeConflict,
      "\(change.storage.entity.name).\(property.name) refers to an object that another context has "
        + "deleted. Set the relationship to another object or to nil, or set a mergePolicy.",
      objectID: id(change.reportedNumber))
  }

  // MARK: One to one

  /// A request by one end of a one-to-one relationship to pair two objects.
  private struct Claim {
    let change: RowChange
    let slot: Int
    let inverse: Int
    let target: ObjectNumber
  }

  private struct End: Hashable {
    let number: ObjectNumber
    let slot: Int
  }

  private func resolvePairs() throws {
    var claims: [Claim] = []
    var separated: [(change: RowChange, slot: Int, inverse: Int, old: ObjectNumber)] = []
    for change in list where !change.isDeleted {
      for property in change.storage.pairings {
        guard let inverse = change.storage.entity.inverses[property.slot] else { continue }
        let (old, new) = (change.targetBefore(property.slot), change.target(property.slot))
        guard old != new || change.edited.contains(property.slot) else { continue }
        if let new {
          claims.append(
            Claim(
              change: change, slot: property.slot, inverse: inverse.property.slot, target: new))
        }
        if let old, old != new {
          separated.append((change, property.slot, inverse.property.slot, old))
        }
      }
    }
    guard !claims.isEmpty || !separated.isEmpty else { return }
    var paired: Set<End> = []
    let isMutual = { (claim: Claim) in
      self.known(claim.target)?.target(claim.inverse) == claim.change.number
    }
    for claim in claims where isMutual(claim) { try pair(claim, &paired) }
    for claim in claims where claim.change.edited.contains(claim.slot) {
      try pair(claim, &paired)
    }
    for claim in claims { try pair(claim, &paired) }
    for (change, slot, inverse, old) in separated where change.target(slot) != old {
      try separate(old, inverse, from: change.number)
    }
    for claim in claims { try requireMutual(claim) }
  }

  /// Pairs the two objects of a claim.
  ///
  /// If the target is unavailable, the method resets the claim's reference instead. The target is
  /// unavailable in the following cases:
  /// - The target does not exist or has already been paired.
  /// - The target does not yet refer to the claiming object, and a conflict overrode an edit to the
  ///   target's reference.
  /// - The target refers to another partner, and the claim's reference was not edited.
  private func pair(_ claim: Claim, _ paired: inout Set<End>) throws {
    let (change, slot) = (claim.change, claim.slot)
    let (own, there) = (
      End(number: change.number, slot: slot), End(number: claim.target, slot: claim.inverse)
    )
    guard change.target(slot) == claim.target, !paired.contains(own) else { return }
    guard !paired.contains(there), let other = try self.change(of: claim.target) else {
      return revert(claim)
    }
    let partner = other.target(claim.inverse)
    if partner != change.number {
      // If the target already has another partner, the claim takes precedence only if its reference
      // was edited.
      let isEdit = change.edited.contains(slot)
      guard !hasLostEdit(claim.target, claim.inverse), isEdit || partner == nil else {
        return revert(claim)
      }
      other.redirect(claim.inverse, to: change.number)
    }
    if let old = other.targetBefore(claim.inverse), old != change.number {
      try separate(old, slot, from: other.number)
    }
    paired.insert(own)
    paired.insert(there)
  }

  /// Resets the reference in a claim to its stored target, or clears the reference if that target
  /// is the object itself.
  private func revert(_ claim: Claim) {
    let (change, slot) = (claim.change, claim.slot)
    let before = change.targetBefore(slot)
    change.redirect(slot, to: before == change.number ? nil : before)
  }

  /// Clears the reference in a claim if its target does not refer back to the claiming object.
  private func requireMutual(_ claim: Claim) throws {
    guard let partner = claim.change.target(claim.slot) else { return }
    guard try change(of: partner)?.target(claim.inverse) != claim.change.number else { return }
    claim.change.redirect(claim.slot, to: nil)
  }

  /// Clears an object's reference if its target is `other`.
  private func separate(_ number: ObjectNumber, _ slot: Int, from other: ObjectNumber) throws {
    guard let change = try change(of: number), change.target(slot) == other else { return }
    change.redirect(slot, to: nil)
  }

  // MARK: To-one and to-many

  /// Marks the objects that gain or lose members because references to them change.
  private func markChangedMembers() throws {
    var position = 0
    while position < list.count {
      let change = list[position]
      position += 1
      guard !change.isDeleted else { continue }
      for property in change.storage.references {
        guard let inverse = change.storage.entity.inverses[property.slot],
          case .toMany(let isOrdered) = inverse.property.kind
        else { continue }
        let (old, new) = (change.targetBefore(property.slot), change.target(property.slot))
        guard old != new else { continue }
        let slot = inverse.property.slot
        if let old, let owner = try self.change(of: old) {
          if isOrdered { lists.remove(old, slot, change.number) }
          owner.touched.insert(slot)
        }
        if let new, let owner = try self.change(of: new) {
          if isOrdered { lists.add(new, slot, change.number) }
          owner.touched.insert(slot)
        }
      }
    }
  }
}
