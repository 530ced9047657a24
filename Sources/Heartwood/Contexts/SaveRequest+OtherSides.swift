/// What a conflict means for objects that are not saved themselves.
extension SaveRequest {
  /// Has to-many relationships count as changed whose members a conflict has changed from the other
  /// side, so that who has read them reads them again.
  ///
  /// Without a conflict the objects on both sides of a reference are in the context, and saved.
  func noteOtherSides(_ writes: [Write]) throws {
    guard isContested else { return }
    var known = Set(writes.map(\.number) + deletions.map(\.number))
    for write in writes {
      try noteOtherSides(write.storage.entity, write.before, write.after, &known)
    }
    for row in deletions { try noteOtherSides(row.entity, row.values, nil, &known) }
  }

  private func noteOtherSides(
    _ entity: EntityDescription, _ before: [StoredValue]?, _ after: [StoredValue]?,
    _ known: inout Set<ObjectNumber>
  ) throws {
    for property in entity.relationships {
      guard case .toOne = property.kind, let inverse = entity.inverses[property.slot],
        case .toMany = inverse.property.kind
      else { continue }
      let (old, new) = (before?[property.slot] ?? .null, after?[property.slot] ?? .null)
      guard old != new else { continue }
      for case .integer(let bits) in [old, new] {
        let number = ObjectNumber(bits: bits)
        guard known.insert(number).inserted, let storage = model.storage(of: number),
          let row = try rows.row(number, storage)
        else { continue }
        try rows.removeEntries(number, storage, row.values)
        try rows.put(
          number, storage, row.values, before: row.values, lists: [inverse.property.slot])
      }
    }
  }
}
