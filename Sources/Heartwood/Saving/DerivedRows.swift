/// The recomputation of derived attributes that are affected by a transaction's changes to rows.
///
/// Attributes that are derived from the object itself are computed before unique constraints are
/// checked. Attributes that are derived over a relationship are computed last, after all
/// relationships are written. Only then does the store contain the current members, including
/// members that other contexts have added.
struct DerivedRows {
  private let rows: RowWriter
  private let model: StoreModel
  private let derived: DerivedValues
  /// The objects whose relationship-derived attributes may need to be recomputed.
  private var affected: Set<ObjectNumber> = []

  init(_ rows: RowWriter, _ model: StoreModel) {
    self.rows = rows
    self.model = model
    derived = DerivedValues(rows, model)
  }

  /// Computes the attributes of a row that are derived from the row itself, and stores them in
  /// `values`.
  ///
  /// - Parameter keepsTimes: `true` if attributes derived from the save time keep their values.
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

  // MARK: Affected objects

  /// Marks an object whose relationship-derived attributes must be recomputed.
  mutating func mark(_ number: ObjectNumber) {
    if model.hasDerived { affected.insert(number) }
  }

  /// Marks the objects whose derived attributes depend on a row that is being written or deleted.
  ///
  /// - Parameter isNew: `true` if the row is new. In this case, the store is not searched for
  ///   related rows, because only rows written by the same transaction can be related to a new row.
  mutating func markDependents(
    of number: ObjectNumber, _ entity: EntityDescription, before: [StoredValue]?,
    after: [StoredValue]?, isNew: Bool = false
  ) throws {
    for dependency in entity.dependencies {
      let isChanged =
        dependency.slot.map { !Self.isSame(before?[$0], after?[$0]) }
        ?? ((before == nil) != (after == nil))
      if case .toOne = dependency.relationship.kind {
        guard isChanged, !isNew else { continue }
        let name = model.referrers(dependency.relationship, of: dependency.entity)
        affected.formUnion(try rows.numbers(in: name, of: number))
        continue
      }
      guard let inverse = dependency.entity.inverses[dependency.relationship.slot] else { continue }
      if case .toOne = inverse.property.kind {
        let (old, new) = (before?[inverse.property.slot], after?[inverse.property.slot])
        guard isChanged || old != new else { continue }
        for case .integer(let bits)? in [old, new] { affected.insert(ObjectNumber(bits: bits)) }
      } else if isChanged, !isNew {
        let name = model.memberKeyspace(inverse.property, of: inverse.entity)
        affected.formUnion(try rows.numbers(in: name, of: number))
      }
    }
  }

  private static func isSame(_ first: StoredValue?, _ second: StoredValue?) -> Bool {
    guard let first, let second else { return (first == nil) == (second == nil) }
    return first.isIdentical(to: second)
  }

  /// Marks the objects whose derived attributes depend on the changed rows.
  private mutating func markAllDependents(of changes: RowChanges) throws {
    for change in changes.list where !change.isDeleted && change.isEffective {
      try markDependents(
        of: change.number, change.storage.entity, before: change.before, after: change.after,
        isNew: change.isNew && change.before == nil)
    }
  }

  // MARK: Computing

  /// Marks the objects whose derived attributes depend on the changes.
  ///
  /// This method is used only in transactions that do not change relationships. The derived
  /// attributes of the marked objects are recomputed at the end of the transaction. New rows have
  /// no related objects yet, so their attributes that are derived over a relationship are set to
  /// the values for an empty relationship.
  mutating func markDependents(of changes: RowChanges) throws {
    guard model.hasDerived else { return }
    for change in changes.list where change.before == nil {
      for attribute in change.storage.entity.derived where attribute.isOverRelationship {
        change.after[attribute.slot] = try attribute.value([]) ?? .null
      }
    }
    try markAllDependents(of: changes)
  }

  /// Recomputes the attributes that are derived from other rows.
  ///
  /// The method recomputes attributes in rows that the transaction already changes, and in rows
  /// that would otherwise stay unchanged.
  ///
  /// - Precondition: All relationships have been written.
  /// - Returns: The changes to the rows that would otherwise stay unchanged. These rows keep their
  ///   versions, so that other contexts treat them as unchanged.
  mutating func deriveRelated(_ changes: RowChanges) throws -> [RowChange] {
    guard model.hasDerived else { return [] }
    try markAllDependents(of: changes)
    for change in changes.list
    where !change.isDeleted && change.storage.entity.derivesOverRelationship {
      // Skip the row if it does not change and its derived attributes do not depend on the changes.
      guard change.isEffective || affected.contains(change.number) else { continue }
      let isDerivedOnly = !change.isEffective
      change.after = try values(change.number, change.after, change.storage, changes)
      change.isDerivedOnly = isDerivedOnly && change.isEffective
    }
    var others: [RowChange] = []
    for number in affected.sorted() where changes.known(number) == nil {
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
    affected = []
    return others
  }

  /// Recomputes the relationship-derived values of a row.
  ///
  /// - Returns: All values of the row.
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
