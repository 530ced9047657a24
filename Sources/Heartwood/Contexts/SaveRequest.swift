/// The changes of a context on their way into the store, in one transaction.
///
/// What is to be written is decided and written within the transaction; what that means for the
/// objects is kept until the commit has succeeded, so that a save that fails changes nothing.
struct SaveRequest {
  /// What becomes of an object when the commit has succeeded.
  enum Outcome {
    /// It is as its row.
    case saved
    /// Its row has these values, which others have set.
    case merged([StoredValue])
    /// Its row is as others have left it, and is read again.
    case dropped
    /// Its row is gone.
    case deleted
    /// Another object has its unique values, and takes its place.
    case replaced(by: ObjectNumber)
  }

  let context: ManagedObjectContext
  let model: StoreModel
  let policy: MergePolicy
  let base: UInt64
  let rows: RowWriter
  private(set) var derived: DerivedRows
  /// The numbers of inserted objects from now on.
  private(set) var numbers = NumberTable<ObjectNumber>()
  private(set) var outcomes: [(object: ManagedObject, outcome: Outcome)] = []
  private var conflicts: [ObjectGraphError] = []
  /// What objects hold that has no stored form.
  var unencodable: [ObjectGraphError] = []
  /// Whether others have changed what is saved.
  private(set) var isContested = false
  /// The rows that are deleted, as they were.
  private(set) var deletions:
    [(number: ObjectNumber, entity: EntityDescription, values: [StoredValue])] = []
  /// By the numbers that inserted objects would have had, the rows in their places.
  private var replaced: [Int64: ObjectNumber] = [:]

  init(_ context: ManagedObjectContext, _ transaction: WriteTransaction) {
    self.context = context
    model = context.model
    policy = context.whole.mergePolicy
    base = transaction.base
    rows = RowWriter(transaction, context.model, context.origin)
    derived = DerivedRows(rows, context.model)
  }

  /// Writes everything.
  ///
  /// - Throws: `mergeConflict` or `constraintConflict`, with all of them.
  mutating func run() throws {
    for object in context.inserted.all {
      numbers[object.number] =
        object.number.isTemporary
        ? try rows.nextNumber(model.storage(of: entity(object))) : object.number
    }
    for object in context.watched where !object.hasChanges && !object.isFault {
      try check(object)
    }
    for object in context.deleted.all { try delete(object) }
    var writes: [Write] = []
    for object in context.updated.all {
      if let write = try update(object) { writes.append(write) }
    }
    for object in context.inserted.all { writes.append(insertion(of: object)) }
    try derived.deriveOwn(&writes)
    try requireStorable(writes)
    // Values that one object gives up may be taken by another.
    for write in writes { try rows.removeEntries(write.number, write.storage, write.before) }
    writes = try settleUniqueness(writes)
    redirect(writes)
    try throwConflicts()
    let listing = Set(
      writes.filter { $0.object.changes?.members.isEmpty == false }
        .map { ObjectIdentifier($0.object) })
    for write in writes {
      try rows.putReferences(write.number, write.storage, write.after, before: write.before)
      try putMembers(of: write, listing)
    }
    let others = try derived.deriveRelated(&writes)
    for write in writes {
      let lists = write.object.changes?.members.keys.map { $0 } ?? []
      try rows.put(
        write.number, write.storage, write.after, before: write.before, lists: lists)
    }
    for row in others { try derived.put(row) }
    try noteOtherSides(writes)
    try rows.finish()
  }

  /// A row to be written.
  ///
  /// A class, because lists of them are gone through several times: each step retains one object
  /// then, and not four.
  final class Write {
    let object: ManagedObject
    var number: ObjectNumber
    let storage: EntityStorage
    /// What the row holds; `nil` if there is none.
    var before: [StoredValue]?
    var after: [StoredValue]

    init(
      object: ManagedObject, number: ObjectNumber, storage: EntityStorage, before: [StoredValue]?,
      after: [StoredValue]
    ) {
      self.object = object
      self.number = number
      self.storage = storage
      self.before = before
      self.after = after
    }
  }

  private func entity(_ object: ManagedObject) -> EntityDescription {
    context.entity(of: object)
  }

  /// The number an object has after the commit.
  private func number(of object: ManagedObject) -> ObjectNumber {
    numbers[object.number] ?? object.number
  }

  /// The values of an object as its row will hold them.
  private mutating func values(of object: ManagedObject) -> [StoredValue] {
    entity(object).properties.map { property in
      guard case .toOne = property.kind else { return storedValue(property, of: object) }
      switch object.target(property) {
      case .none: return .null
      case .number(let bits): return reference(to: ObjectNumber(bits: bits))
      case .object(let target): return reference(to: target.number)
      }
    }
  }

  private func reference(to number: ObjectNumber) -> StoredValue {
    let lasting = numbers[number] ?? number
    // One that was taken out of the context before it was saved has no row, and its number none.
    return lasting.isTemporary ? .null : .integer(lasting.bits)
  }

  private mutating func insertion(of object: ManagedObject) -> Write {
    outcomes.append((object, .saved))
    return Write(
      object: object, number: number(of: object), storage: model.storage(of: entity(object)),
      before: nil, after: values(of: object))
  }

  // MARK: Conflicts with others

  private mutating func check(_ object: ManagedObject) throws {
    let storage = model.storage(of: entity(object))
    let row = try rows.row(object.number, storage)
    guard row?.version != object.version else { return }
    if policy.kind == .error { conflict(object) }
    outcomes.append((object, row == nil ? .deleted : .dropped))
  }

  private mutating func conflict(_ object: ManagedObject) {
    conflicts.append(
      ObjectGraphError(
        .mergeConflict,
        "Another context has changed a \(entity(object).name) since it was read here. Refresh it, "
          + "or set a mergePolicy.",
        objectID: ManagedObjectID(object.number, model.space)))
  }

  private mutating func delete(_ object: ManagedObject) throws {
    let storage = model.storage(of: entity(object))
    guard let row = try rows.row(object.number, storage) else {
      return outcomes.append((object, .deleted))
    }
    // It is there again: nobody has asked for this one to be deleted.
    if object.isGivenUp { return outcomes.append((object, .dropped)) }
    if row.version != object.version, object.version != 0 {
      isContested = true
      switch policy.kind {
      case .error: return conflict(object)
      case .storeTrump, .rollback: return outcomes.append((object, .dropped))
      case .objectTrump, .overwrite: break
      }
    }
    try derived.note(object.number, storage.entity, before: row.values, after: nil)
    try rows.delete(object.number, storage, row.values)
    deletions.append((object.number, storage.entity, row.values))
    outcomes.append((object, .deleted))
  }

  private mutating func update(_ object: ManagedObject) throws -> Write? {
    let storage = model.storage(of: entity(object))
    let mine = values(of: object)
    let changed = object.changes?.originals ?? [:]
    guard let row = try rows.row(object.number, storage) else {
      isContested = true
      switch policy.kind {
      case .error: conflict(object)
      case .storeTrump, .rollback: outcomes.append((object, .deleted))
      case .objectTrump, .overwrite:
        outcomes.append((object, .saved))
        return Write(
          object: object, number: object.number, storage: storage, before: nil, after: mine)
      }
      return nil
    }
    var after = mine
    if row.version != object.version {
      isContested = true
      switch policy.kind {
      case .error:
        conflict(object)
        return nil
      case .rollback:
        outcomes.append((object, .dropped))
        return nil
      case .overwrite: break
      case .storeTrump:
        after = row.values
        for (slot, base) in changed where row.values[slot].isIdentical(to: base) {
          after[slot] = mine[slot]
        }
      case .objectTrump:
        after = row.values
        for slot in changed.keys { after[slot] = mine[slot] }
        try settle(object, changed, mine, row.values, &after)
      }
    }
    outcomes.append((object, after.isIdentical(to: mine) ? .saved : .merged(after)))
    return Write(
      object: object, number: object.number, storage: storage, before: row.values, after: after)
  }

  /// Asks a custom policy.
  private func settle(
    _ object: ManagedObject, _ changed: [Int: StoredValue], _ mine: [StoredValue],
    _ theirs: [StoredValue], _ after: inout [StoredValue]
  ) throws {
    guard let resolve = policy.resolve else { return }
    let entity = entity(object)
    func named(_ values: [StoredValue]) -> [String: StoredValue] {
      Dictionary(uniqueKeysWithValues: entity.columns.map { ($0.name, values[$0.slot]) })
    }
    var conflict = MergeConflict(
      objectID: ManagedObjectID(object.number, model.space), entityName: entity.name,
      base: named(mine).merging(
        changed.map { (entity.properties[$0.key].name, $0.value) }, uniquingKeysWith: { $1 }),
      mine: named(mine), theirs: named(theirs))
    try resolve(&conflict)
    for (name, value) in conflict.result {
      guard let property = entity.columns.first(where: { $0.name == name }) else {
        throw ObjectGraphError(.unknownProperty, "\(entity.name) has no property \(name).")
      }
      after[property.slot] = value
    }
  }

  // MARK: Unique values

  /// Finds rows and objects with the same unique values, and settles who keeps them.
  private mutating func settleUniqueness(_ writes: [Write]) throws -> [Write] {
    guard writes.contains(where: \.storage.hasUniques) else { return writes }
    var owners: [UniqueKey: Int] = [:]
    var result = writes.map(Optional.some)
    for position in writes.indices where writes[position].storage.hasUniques {
      for index in writes[position].storage.entity.indexes
      where index.isUnique && !index.isOverRelationship {
        guard let write = result[position] else { break }
        let values = index.slots.map { write.after[$0] }
        guard !values.contains(.null) else { continue }
        let key = UniqueKey(keyspace: model.keyspace(index), key: EntryKey.key(values))
        if let stored = try rows.owner(index, values), stored != write.number {
          try settle(position, against: stored, index, &result)
        } else if let other = owners[key], result[other] != nil {
          settle(position, against: other, index, &result)
        }
        if result[position] != nil { owners[key] = position }
      }
    }
    return result.compactMap { $0 }
  }

  private struct UniqueKey: Hashable {
    let keyspace: String
    /// Equal values are one key, -0 and 0 among them.
    let key: Key
  }

  private mutating func constraintConflict(_ object: ManagedObject, _ index: IndexDescription) {
    conflicts.append(index.conflict(ManagedObjectID(object.number, model.space)))
  }

  /// An object would have the unique values of a row.
  private mutating func settle(
    _ position: Int, against stored: ObjectNumber, _ index: IndexDescription,
    _ writes: inout [Write?]
  ) throws {
    guard let write = writes[position] else { return }
    guard policy.kind != .error, write.before == nil, stored.entity == write.storage.number,
      let row = try rows.row(stored, write.storage)
    else { return constraintConflict(write.object, index) }
    replace(write.object, by: stored)
    guard policy.kind == .objectTrump || policy.kind == .overwrite else {
      return writes[position] = nil
    }
    // The row stays, with its number and the values of the new object.
    write.number = stored
    write.before = row.values
    try rows.removeEntries(stored, write.storage, row.values)
    writes[position] = write
  }

  /// Two objects of the context would have the same unique values.
  private mutating func settle(
    _ position: Int, against other: Int, _ index: IndexDescription, _ writes: inout [Write?]
  ) {
    guard let later = writes[position], let earlier = writes[other] else { return }
    let keepsLater = policy.kind == .objectTrump || policy.kind == .overwrite
    let (kept, lost) = keepsLater ? (later, earlier) : (earlier, later)
    guard policy.kind != .error, lost.before == nil else {
      return constraintConflict(later.object, index)
    }
    replace(lost.object, by: kept.number)
    writes[keepsLater ? other : position] = nil
  }

  /// Rows that refer to an object that was replaced refer to what has taken its place.
  private func redirect(_ writes: [Write]) {
    guard !replaced.isEmpty else { return }
    for write in writes {
      for property in write.storage.entity.relationships {
        guard case .integer(let bits) = write.after[property.slot], let other = replaced[bits]
        else { continue }
        write.after[property.slot] = .integer(other.bits)
      }
    }
  }

  /// Has another row take the place of an object.
  private mutating func replace(_ object: ManagedObject, by stored: ObjectNumber) {
    outcomes.removeAll { $0.object === object }
    outcomes.append((object, .replaced(by: stored)))
    replaced[number(of: object).bits] = stored
    numbers[object.number] = stored
  }

  private func throwConflicts() throws {
    guard let first = conflicts.first else { return }
    guard conflicts.count > 1 else { throw first }
    var all = ObjectGraphError(
      first.kind, "\(conflicts.count) objects cannot be saved.", objectID: first.objectID)
    all.failures = conflicts
    throw all
  }

  // MARK: Members

  /// - Parameter listing: The objects whose own members are written; others have given way.
  private mutating func putMembers(of write: Write, _ listing: Set<ObjectIdentifier>) throws {
    guard let members = write.object.changes?.members else { return }
    for (slot, changes) in members {
      let property = write.storage.entity.properties[slot]
      let keyspace = model.memberKeyspace(property, of: write.storage.entity)
      switch property.kind {
      case .toMany(isOrdered: true):
        let all = context.loadedMembers(of: write.object, property)
        try rows.putList(keyspace, write.number, all.map { number(of: $0) })
      case .toMany:
        // Listed by the references of the others, if those are to one.
        guard model.listsMembers(property, of: write.storage.entity) else { continue }
        let other = model.otherList(property, of: write.storage.entity)
        for (members, isAdded) in [(changes.added, true), (changes.removed, false)] {
          let silent =
            other == nil ? [] : members.filter { !listing.contains(ObjectIdentifier($0)) }
          // Who has given way is listed from this side on both; who is gone is not listed any more.
          let gone = Set(isAdded ? try silent.filter { try !hasRow($0) } : [])
          let numbers = members.filter { !gone.contains($0) }.map { number(of: $0) }
          try rows.changeEdges(keyspace, write.number, numbers, areAdded: isAdded)
          for member in silent where !gone.contains(member) {
            derived.note(number(of: member))
            try rows.changeEdges(
              other ?? keyspace, number(of: member), [write.number], areAdded: isAdded)
          }
        }
      case .attribute, .toOne, .transient: continue
      }
    }
  }

  private func hasRow(_ object: ManagedObject) throws -> Bool {
    try rows.row(number(of: object), model.storage(of: entity(object))) != nil
  }
}
