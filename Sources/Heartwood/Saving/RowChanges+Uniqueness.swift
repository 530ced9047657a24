/// Methods that enforce unique constraints: they merge new objects into existing rows and detect
/// conflicts.
extension RowChanges {
  /// A row's values for the attributes of a unique constraint, encoded as an index key.
  struct UniqueKey: Hashable {
    /// The position of the declaring entity in the schema.
    private let entity: Int
    /// The position of the constraint among the declaring entity's indexes.
    private let index: Int
    let key: Key

    init(_ index: IndexDescription, _ components: some Sequence<StoredValue>) {
      (entity, self.index) = (index.entity.position, index.position)
      key = EntryKey.key(components)
    }
  }

  /// The changes to the rows that claim unique values, keyed by unique value.
  typealias Owners = [UniqueKey: RowChange]

  /// The row that has a given unique value: either a row that this transaction changes, or an
  /// unchanged row in the store.
  enum Owner {
    case change(RowChange)
    case stored(ObjectNumber)

    var number: ObjectNumber {
      switch self {
      case .change(let change): change.number
      case .stored(let number): number
      }
    }
  }

  /// Merges new objects into the rows with the same unique values, and reports conflicts.
  ///
  /// - Parameter requested: The changes that the caller requested. Changes that follow from them,
  ///   such as cascades, are not included, because they never change unique values.
  /// - Precondition: All deletions have been performed.
  /// - Complexity: Each changed row requires one read per unique constraint.
  func resolveUniqueConstraints(of requested: [RowChange]) throws {
    guard requested.contains(where: { !$0.isDeleted && $0.storage.hasUniqueConstraints }) else {
      return
    }
    var owners: Owners = [:]
    owners.reserveCapacity(requested.count)
    for change in requested
    where !change.isNew && !change.isDeleted && change.storage.hasUniqueConstraints {
      try claim(change, &owners)
    }
    for change in requested where change.isNew && change.storage.hasUniqueConstraints {
      try mergeIntoExisting(change, &owners)
    }
    if !replaced.isEmpty { removeReplaced() }
  }

  /// Returns the unique values of a row, each with the position of its constraint in the entity.
  func uniqueKeys(
    _ storage: EntityStorage, _ values: [StoredValue]
  ) -> [(position: Int, key: UniqueKey)] {
    var keys: [(position: Int, key: UniqueKey)] = []
    for (position, index) in storage.entity.indexes.enumerated()
    where index.isUnique && !index.isOverRelationship {
      let components = index.slots.lazy.map { values[$0] }
      guard !components.contains(where: \.isNull) else { continue }
      keys.append((position, UniqueKey(index, components)))
    }
    return keys
  }

  /// Returns the row that will have the given unique value after the transaction, or `nil` if there
  /// will be no such row.
  ///
  /// The result is based on the changes requested so far.
  func owner(
    _ index: IndexDescription, _ values: @autoclosure () -> [StoredValue], _ key: UniqueKey,
    _ owners: Owners
  ) throws -> Owner? {
    if let known = owners[key] { return .change(known) }
    guard let stored = try rows.owner(index, values(), key.key) else { return nil }
    guard let other = known(stored) else { return .stored(stored) }
    // Check the row found in the store, because the transaction may have deleted it or given it
    // another value.
    guard !other.isDeleted,
      uniqueKeys(other.storage, other.after).contains(where: { $0.key == key })
    else { return nil }
    return .change(other)
  }

  /// Returns another row that will have the same unique value as `change` after the transaction, or
  /// `nil` if there will be no such row.
  func owner(
    _ position: Int, _ key: UniqueKey, besides change: RowChange, _ owners: Owners
  ) throws -> Owner? {
    let index = change.storage.entity.indexes[position]
    let found = try owner(index, index.slots.map { change.after[$0] }, key, owners)
    return found?.number == change.number ? nil : found
  }

  /// Claims the unique values of a row, and reports a conflict if another row has one of them.
  private func claim(_ change: RowChange, _ owners: inout Owners) throws {
    for (position, key) in uniqueKeys(change.storage, change.after) {
      let index = change.storage.entity.indexes[position]
      // Skip the lookup if this row already has the value in the store, because no other stored row
      // can have the value. A conflict is possible only with a row that claimed the value earlier
      // in this save.
      let isOwn = change.before.map { before in
        index.slots.allSatisfy { before[$0].isIdentical(to: change.after[$0]) }
      }
      if isOwn == true, owners[key] == nil {
        owners[key] = change
      } else if let owner = try owner(position, key, besides: change, owners) {
        report(index.conflict(objects(of: change), with: objects(of: owner)))
      } else {
        owners[key] = change
      }
    }
  }

  /// Merges a new object into the row that has the same unique values, if there is such a row.
  private func mergeIntoExisting(_ change: RowChange, _ owners: inout Owners) throws {
    var existing: RowChange?
    let keys = uniqueKeys(change.storage, change.after)
    for (position, key) in keys {
      guard let owner = try owner(position, key, besides: change, owners) else { continue }
      guard policy != .error, let target = try target(owner), target.storage === change.storage,
        existing == nil || existing === target
      else {
        let index = change.storage.entity.indexes[position]
        return report(
          index.conflict(
            objects(of: change), with: objects(of: owner), isMergeable: policy == .error))
      }
      existing = target
    }
    guard let existing else {
      for (_, key) in keys { owners[key] = change }
      return
    }
    for (_, key) in uniqueKeys(existing.storage, existing.after) where owners[key] === existing {
      owners[key] = nil
    }
    try merge(change, into: existing)
    replace(change, by: existing)
    try claim(existing, &owners)
  }

  /// Returns the object of a row, followed by the new objects that were merged into the row.
  private func objects(of change: RowChange) -> [ManagedObjectID] {
    let merged = replaced.isEmpty ? [] : list.filter { replaced[$0.number] == change.number }
    return ([change] + merged).map { id($0.reportedNumber) }
  }

  private func objects(of owner: Owner) -> [ManagedObjectID] {
    switch owner {
    case .change(let change): objects(of: change)
    case .stored(let number): [id(number)]
    }
  }

  private func target(_ owner: Owner) throws -> RowChange? {
    switch owner {
    case .change(let change): return change
    case .stored(let number): return try self.change(of: number)
    }
  }

  /// Merges a new object's values into an existing row.
  ///
  /// The merge policy determines which of the object's values replace those of the row.
  private func merge(_ new: RowChange, into row: RowChange) throws {
    row.isAdjusted = true
    row.isOfObject = row.isOfObject || new.isOfObject
    var lost = SlotSet()
    // Do not copy derived attributes, because the code below recomputes them.
    let computed = SlotSet(row.storage.entity.derived.map(\.slot))
    for property in row.storage.entity.columns
    where (!areAttributesOnly || property.isAttribute) && !computed.contains(property.slot) {
      let slot = property.slot
      let counts: Bool =
        switch policy {
        case .overwrite: true
        case .objectTrump: new.assigned.contains(slot)
        case .error, .storeTrump, .rollback: false
        }
      if counts {
        // The new value replaces this save's earlier edit to the reference, so record that edit as
        // lost.
        if row.edited.contains(slot), row.after[slot] != new.after[slot] { lost.insert(slot) }
        row.after[slot] = new.after[slot]
        if property.isRelationship { row.edited.insert(slot) }
      } else if property.isRelationship, new.assigned.contains(slot) {
        lost.insert(slot)
      }
    }
    recordLostEdits(of: row.number, lost)
    if policy == .objectTrump || policy == .overwrite {
      for (slot, edit) in new.members { row.members[slot, default: MemberEdit()].append(edit) }
    }
    try deriveOwn(row)
  }
}
