/// The derived attributes of a save: whose they are, and what they become.
///
/// What is computed from an object itself is known before unique values are settled. What is
/// computed over a relationship is known only when that has been done and all relationships are
/// written: then the store says who is related to whom, whatever this context knew of others.
struct DerivedRows {
  /// A row that is not saved itself, but that something in it is computed from what is.
  struct Row {
    let number: ObjectNumber
    let storage: EntityStorage
    /// What it was: for others the object has not changed, and they need not be in conflict.
    let version: UInt64
    let before: [StoredValue]
    let values: [StoredValue]
  }

  private let rows: RowWriter
  private let model: StoreModel
  private let derived: DerivedValues
  /// Objects that something is computed for from what was changed.
  private var concerned: Set<ObjectNumber> = []
  /// All rows that have derived attributes and were written.
  private(set) var results:
    [(number: ObjectNumber, storage: EntityStorage, values: [StoredValue])] =
      []

  init(_ rows: RowWriter, _ model: StoreModel) {
    self.rows = rows
    self.model = model
    derived = DerivedValues(rows, model)
  }

  /// Computes what depends on nothing but the row itself.
  func deriveOwn(_ writes: inout [SaveRequest.Write]) throws {
    guard model.hasDerived else { return }
    for position in writes.indices {
      let (number, storage) = (writes[position].number, writes[position].storage)
      try deriveOwn(&writes[position].after, number, storage)
    }
  }

  /// Computes what depends on nothing but the row itself.
  func deriveOwn(
    _ values: inout [StoredValue], _ number: ObjectNumber, _ storage: EntityStorage
  ) throws {
    for attribute in storage.entity.derived where !attribute.isOverRelationship {
      values[attribute.slot] = try derived.value(of: attribute, number, values, storage) { _, _ in
        nil
      }
    }
  }

  /// Takes down that an object is concerned.
  mutating func note(_ number: ObjectNumber) { concerned.insert(number) }

  /// Takes down who is concerned when a row is written or deleted.
  ///
  /// - Parameter isNew: Whether nobody but what is written too can be related to it.
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

  /// Writes what depends on rows that were written already.
  mutating func finish() throws {
    var none: [SaveRequest.Write] = []
    for row in try deriveRelated(&none) { try put(row) }
  }

  /// Writes a row with its entries.
  func put(_ row: Row) throws {
    try rows.put(
      row.number, row.storage, row.values, before: row.before, version: row.version)
  }

  /// Computes what depends on other rows, in the rows to be written and in others.
  ///
  /// - Precondition: All relationships are written.
  /// - Returns: The others, without their entries.
  mutating func deriveRelated(_ writes: inout [SaveRequest.Write]) throws -> [Row] {
    guard model.hasDerived else { return [] }
    for write in writes {
      let isNew = write.before == nil && write.object.isInserted
      try note(
        write.number, write.storage.entity, before: write.before, after: write.after, isNew: isNew)
    }
    var positions = NumberTable<Int>()
    for (position, write) in writes.enumerated()
    where write.storage.entity.takesPartInDerivation {
      positions[write.number] = position
    }
    for position in writes.indices where writes[position].storage.entity.derivesOverRelationship {
      writes[position].after = try values(
        writes[position].number, writes[position].after, writes[position].storage, writes, positions
      )
    }
    var others: [Row] = []
    for number in concerned.sorted() where positions[number] == nil {
      guard let storage = model.storage(of: number), storage.entity.derivesOverRelationship,
        let row = try rows.row(number, storage)
      else { continue }
      let after = try values(number, row.values, storage, writes, positions)
      guard !after.isIdentical(to: row.values) else { continue }
      try rows.removeEntries(number, storage, row.values)
      others.append(
        Row(
          number: number, storage: storage, version: row.version, before: row.values, values: after)
      )
    }
    results = writes.filter { !$0.storage.entity.derived.isEmpty }
      .map { ($0.number, $0.storage, $0.after) }
    results += others.map { ($0.number, $0.storage, $0.values) }
    return others
  }

  /// The values of a row with those computed over relationships.
  private func values(
    _ number: ObjectNumber, _ values: [StoredValue], _ storage: EntityStorage,
    _ writes: [SaveRequest.Write], _ positions: NumberTable<Int>
  ) throws -> [StoredValue] {
    var values = values
    for attribute in storage.entity.derived where attribute.isOverRelationship {
      values[attribute.slot] = try derived.value(of: attribute, number, values, storage) {
        other, there in
        if let position = positions[other] { return writes[position].after }
        return try rows.row(other, there)?.values
      }
    }
    return values
  }
}

extension EntityDescription {
  fileprivate var derivesOverRelationship: Bool { derived.contains(where: \.isOverRelationship) }

  fileprivate var takesPartInDerivation: Bool { !dependences.isEmpty || derivesOverRelationship }
}

extension ManagedObjectContext {
  /// Has objects show what was derived for their rows.
  func showDerived(_ request: SaveRequest) {
    for (number, storage, values) in request.derived.results {
      guard let object = registered[number]?.takeUnretainedValue(), !object.isFault else {
        continue
      }
      for attribute in storage.entity.derived {
        try? object.setStoredValue(values[attribute.slot], attribute.property)
      }
      if !storage.entity.derived.isEmpty { observer?.note(object) }
    }
  }
}
