extension BatchRun {
  /// Sets the targets of a relationship, and updates its inverse.
  ///
  /// - Parameter willChange: A closure that is called before a related row is changed.
  /// - Returns: Whether the relationship's targets have changed.
  func relate(
    _ change: RowChange, _ property: PropertyDescription, to targets: [ObjectNumber],
    willChange: (RowChange) -> Void = { _ in }
  ) throws -> Bool {
    guard case .toMany(let isOrdered) = property.kind else {
      let before = change.target(property.slot)
      change.after[property.slot] = targets.first.map { .integer($0.bits) } ?? .null
      change.edited.insert(property.slot)
      return before != targets.first
    }
    var known: Set<ObjectNumber> = []
    let targets = targets.filter { known.insert($0).inserted }
    let keyspace = model.memberKeyspace(property, of: change.storage.entity)
    let members = try rows.numbers(in: keyspace, of: change.number)
    guard isOrdered ? members != targets : Set(members) != known else { return false }
    let present = Set(members)
    var edit = MemberEdit()
    edit.added = targets.filter { !present.contains($0) }
    edit.removed = members.filter { !known.contains($0) }
    if isOrdered { (edit.mine, edit.base) = (targets, members) }
    change.members[property.slot] = edit
    guard let inverse = change.storage.entity.inverses[property.slot]?.property,
      inverse.isReference
    else { return true }
    for member in try edit.added.compactMap({ try changes.change(of: $0) }) {
      willChange(member)
      member.after[inverse.slot] = .integer(change.number.bits)
      member.edited.insert(inverse.slot)
    }
    for number in edit.removed {
      guard let member = try changes.change(of: number),
        member.target(inverse.slot) == change.number
      else { continue }
      willChange(member)
      member.after[inverse.slot] = .null
      member.edited.insert(inverse.slot)
    }
    return true
  }
}
