/// The derived attributes of changed rows: which rows have them, and what they become.
///
/// What is computed from an object itself is known before unique values are settled. What is
/// computed over a relationship is known only when that has been done and all relationships are
/// written: then the store says which objects are related, whatever a context knew of others.
struct DerivedRows {
  private let rows: RowWriter
  private let model: StoreModel
  private let derived: DerivedValues
  /// Objects that something is computed for from what was changed.
  private var concerned: Set<ObjectNumber> = []

  init(_ rows: RowWriter, _ model: StoreModel) {
    self.rows = rows
    self.model = model
    derived = DerivedValues(rows, model)
  }

  /// Computes what depends on nothing but the row itself.
  func deriveOwn(
    _ values: inout [StoredValue], _ number: ObjectNumber, _ storage: EntityStorage,
    keepsTimes: Bool
  ) throws {
    for attribute in storage.entity.derived
    where !attribute.isOverRelationship && !(keepsTimes && attribute.isTime) {
      values[attribute.slot] = try derived.value(of: attribute, number, values, storage) { _, _ in
        nil
      }
    }
  }

  // MARK: Which objects

  /// Notes that something may be computed for an object.
  mutating func note(_ number: ObjectNumber) {
    if model.hasDerived { concerned.insert(number) }
  }

  /// Notes for which objects something is computed from a row that is written or deleted.
  ///
  /// - Parameter isNew: Whether only rows that are written too can be related to it.
  mutating func note(
    _ number: ObjectNumber, _ entity: EntityDescription, before: [StoredValue]?,
    after: [StoredValue]?, isNew: Bool = false
  ) throws {
    for dependence in entity.dependences {
      let isChanged =
        dependence.slot.map { !Self.isSame(before?[$0], after?[$0]) }
        ?? ((before == nil) != (after == nil))
      if case .toOne = dependence.relationship.kind {
        guard isChanged, !isNew else { continue }
        let name = model.referrers(dependence.relationship, of: dependence.entity)
        concerned.formUnion(try rows.numbers(in: name, of: number))
        continue
      }
      guard let inverse = dependence.entity.inverses[dependence.relationship.slot] else { continue }
      if case .toOne = inverse.property.kind {
        let (old, new) = (before?[inverse.property.slot], after?[inverse.property.slot])
        guard isChanged || old != new else { continue }
        for case .integer(let bits)? in [old, new] { concerned.insert(ObjectNumber(bits: bits)) }
      } else if isChanged, !isNew {
        let name = model.memberKeyspace(inverse.property, of: inverse.entity)
        concerned.formUnion(try rows.numbers(in: name, of: number))
      }
    }
  }

  private static func isSame(_ first: StoredValue?, _ second: StoredValue?) -> Bool {
    guard let first, let second else { return (first == nil) == (second == nil) }
    return first.isIdentical(to: second)
  }

  /// Notes for which objects something is computed from changes.
  private mutating func note(_ changes: RowChanges) throws {
    for change in changes.list where !change.isDeleted && change.isEffective {
      try note(
        change.number, change.storage.entity, before: change.before, after: change.after,
        isNew: change.isNew && change.before == nil)
    }
  }

  // MARK: Computing

  /// Notes what depends on changes that leave all relationships as they are, to be computed at the
  /// end; a new row has what is computed over no objects.
  mutating func noteChanges(_ changes: RowChanges) throws {
    guard model.hasDerived else { return }
    for change in changes.list where change.before == nil {
      for attribute in change.storage.entity.derived where attribute.isOverRelationship {
        change.after[attribute.slot] = try attribute.value([]) ?? .null
      }
    }
    try note(changes)
  }

  /// Computes what depends on other rows, in changes and in rows that are not changed otherwise.
  ///
  /// - Precondition: All relationships are written.
  /// - Returns: The changes of the latter, which keep their versions: for other contexts their
  ///   objects have not changed.
  mutating func deriveRelated(_ changes: RowChanges) throws -> [RowChange] {
    guard model.hasDerived else { return [] }
    try note(changes)
    for change in changes.list
    where !change.isDeleted && change.storage.entity.derivesOverRelationship {
      // A row that nothing is derived for anew is not written again for this.
      guard change.isEffective || concerned.contains(change.number) else { continue }
      let isDerivedOnly = !change.isEffective
      change.after = try values(change.number, change.after, change.storage, changes)
      change.isDerivedOnly = isDerivedOnly && change.isEffective
    }
    var others: [RowChange] = []
    for number in concerned.sorted() where changes.known(number) == nil {
      guard let storage = model.storage(of: number), storage.entity.derivesOverRelationship,
        let row = try rows.row(number, storage)
      else { continue }
      let after = try values(number, row.values, storage, changes)
      guard !after.isIdentical(to: row.values) else { continue }
      let change = RowChange(
        number, storage, before: row.values, after: after, version: row.version)
      change.isDerivedOnly = true
      change.isAdjusted = true
      others.append(change)
    }
    concerned = []
    return others
  }

  /// The values of a row with those computed over relationships.
  private func values(
    _ number: ObjectNumber, _ values: [StoredValue], _ storage: EntityStorage,
    _ changes: RowChanges
  ) throws -> [StoredValue] {
    var values = values
    for attribute in storage.entity.derived where attribute.isOverRelationship {
      values[attribute.slot] = try derived.value(of: attribute, number, values, storage) {
        other, there in
        if let change = changes.known(other) { return change.isDeleted ? nil : change.after }
        return try rows.row(other, there)?.values
      }
    }
    return values
  }
}

extension EntityDescription {
  fileprivate var derivesOverRelationship: Bool { derived.contains(where: \.isOverRelationship) }
}
