/// The rows and member lists that differ between two generations.
///
/// The difference is computed from the keys of the entries that differ, without decoding any rows.
struct RowDifference {
  private let model: StoreModel
  private let storages: [String: EntityStorage]
  /// The slots of the to-many relationships whose members are listed in each keyspace.
  ///
  /// The slots are keyed by the keyspace's name and then by the entity's position.
  private let slots: [String: [Int: [Int]]]
  /// The kind of change to each differing row.
  private(set) var rows: [ObjectNumber: StoreChange.Kind] = [:]
  /// The slots of the to-many relationships whose members differ, keyed by object.
  private(set) var lists: [ObjectNumber: Set<Int>] = [:]
  /// The keyspaces of entities that are not in the model but have rows that differ.
  private(set) var unknownKeyspaces: Set<String> = []

  init(_ model: StoreModel) {
    self.model = model
    storages = Dictionary(uniqueKeysWithValues: model.entities.map { ($0.keyspace, $0) })
    var slots: [String: [Int: [Int]]] = [:]
    for storage in model.entities {
      for property in storage.entity.relationships {
        guard case .toMany = property.kind else { continue }
        let name = model.memberKeyspace(property, of: storage.entity)
        slots[name, default: [:]][storage.entity.position, default: []].append(property.slot)
      }
    }
    self.slots = slots
  }

  /// Returns whether a keyspace contains rows or members.
  ///
  /// Only differences in such keyspaces are recorded. Differences in indexes and in the history,
  /// for example, are ignored.
  func isRelevant(_ keyspace: String) -> Bool {
    storages[keyspace] != nil || slots[keyspace] != nil || keyspace.hasPrefix(Self.rowsPrefix)
  }

  private static let rowsPrefix = "objects."

  /// Records that a key differs between two generations.
  ///
  /// - Throws: `corrupt` if the key does not have the format of its keyspace.
  mutating func record(_ change: StoreChange) throws {
    if let storage = storages[change.keyspace] {
      let row = try Key.decode(change.key.span.bytes, as: Int64.self)
      rows[ObjectNumber(entity: storage.number, row: row)] = change.kind
    } else if let slots = slots[change.keyspace] {
      let (owner, _) = try Key.decode(change.key.span.bytes, as: Int64.self, Int64.self)
      let number = ObjectNumber(bits: owner)
      guard let storage = model.storage(of: number) else { return }
      lists[number, default: []].formUnion(slots[storage.entity.position] ?? [])
    } else if change.keyspace.hasPrefix(Self.rowsPrefix) {
      unknownKeyspaces.insert(change.keyspace)
    }
  }

  /// Records all differences between two generations.
  mutating func recordChanges(in store: Store, from source: Snapshot, to target: Snapshot) throws {
    // Copy `self`, because the closure `isRelevant` must not read `self` while the other closure
    // modifies it. The modifications do not affect the fields that `isRelevant` reads.
    let known = self
    try store.changes(from: source, to: target, where: known.isRelevant) { try record($0) }
  }

  /// Records the differences between two generations until `isWanted` returns `false`.
  ///
  /// - Parameter isWanted: A closure that receives the number of differing rows found so far, and
  ///   returns whether to continue.
  /// - Returns: `true` if all differences were recorded.
  mutating func recordChanges(
    in store: Store, from source: Snapshot, to target: Snapshot,
    while isWanted: (_ count: Int) throws -> Bool
  ) throws -> Bool {
    struct End: Error {}
    let known = self
    do {
      try store.changes(from: source, to: target, where: known.isRelevant) { change in
        try record(change)
        guard try isWanted(rows.count) else { throw End() }
      }
    } catch is End {
      return false
    }
    return true
  }

  /// The numbers of all objects that differ, in ascending order.
  var numbers: [ObjectNumber] { Set(rows.keys).union(lists.keys).sorted() }

  var isEmpty: Bool { rows.isEmpty && lists.isEmpty && unknownKeyspaces.isEmpty }
}

extension RowDifference {
  /// Returns the changes to objects between two generations.
  ///
  /// - Complexity: The same as `Store.changes`, plus two row reads for each object that differs.
  static func changes(
    in store: Store, from source: Snapshot, to target: Snapshot, _ model: StoreModel
  ) throws -> ChangeSet {
    var difference = RowDifference(model)
    try difference.recordChanges(in: store, from: source, to: target)
    let (before, after) = (try StoreView(source, model), try StoreView(target, model))
    var changes = ChangeSet(
      generation: QueryGenerationToken(generation: target.token), stores: [model.space.store])
    for number in difference.numbers {
      guard let storage = model.storage(of: number) else { continue }
      changes.record(
        number, storage, model,
        before: try before.withRecord(number, storage) { try storage.values($0) },
        after: try after.withRecord(number, storage) { try storage.values($0) },
        lists: difference.lists[number] ?? [])
    }
    return changes
  }
}

extension ChangeSet {
  /// Records the change to an object, given its values in both generations.
  ///
  /// `before` or `after` is `nil` if the object does not exist in the corresponding generation.
  ///
  /// - Parameter lists: The slots of the object's to-many relationships whose members differ.
  mutating func record(
    _ number: ObjectNumber, _ storage: EntityStorage, _ model: StoreModel,
    before: [StoredValue]?, after: [StoredValue]?, lists: Set<Int>
  ) {
    let id = ManagedObjectID(number, model.space)
    let entity = storage.entity
    switch (before, after) {
    // Ignore an object that exists in neither generation, because only member entries left behind
    // by its deletion can differ.
    case (nil, nil): return
    case (nil, _): entities[entity.name, default: EntityChanges()].inserted.append(id)
    case (_, nil): entities[entity.name, default: EntityChanges()].deleted.append(id)
    case (let before?, let after?):
      let columns = entity.columns.map(\.slot).filter {
        !before[$0].isIdentical(to: after[$0])
      }
      let names = (columns + lists).map { entity.properties[$0].name }
      entities[entity.name, default: EntityChanges()].updated[id] = Set(names)
    }
  }
}
