/// Which rows, and which lists of members, two generations hold differently.
///
/// It is told the keys that differ, and looks at no value.
struct RowDifference {
  private let model: StoreModel
  private let storages: [String: EntityStorage]
  /// The slots of the to-many relationships that a keyspace of edges lists the members of, by the
  /// position of their entity.
  private let slots: [String: [Int: [Int]]]
  /// What became of the rows.
  private(set) var rows: [ObjectNumber: StoreChange.Kind] = [:]
  /// The slots of to-many relationships whose members differ.
  private(set) var lists: [ObjectNumber: Set<Int>] = [:]
  /// The keyspaces of rows for which the model has no class.
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

  /// Whether what differs in a keyspace says anything; indexes and history do not.
  func wants(_ keyspace: String) -> Bool {
    storages[keyspace] != nil || slots[keyspace] != nil || keyspace.hasPrefix(Self.rowsPrefix)
  }

  private static let rowsPrefix = "objects."

  /// Takes down a key that differs.
  ///
  /// - Throws: `corrupt` if it is no key of its keyspace.
  mutating func note(_ change: StoreChange) throws {
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

  /// Takes down all that differs between two generations.
  mutating func take(_ store: Store, from source: Snapshot, to target: Snapshot) throws {
    // Each row that differs lies in a leaf that was written, but few of those hold rows.
    let known = self
    try store.changes(from: source, to: target, in: known.wants) { try note($0) }
  }

  /// Takes down what differs between two generations, as long as a condition holds for the number
  /// of rows.
  ///
  /// - Returns: Whether that is all.
  mutating func take(
    _ store: Store, from source: Snapshot, to target: Snapshot,
    while isWanted: (_ count: Int) throws -> Bool
  ) throws -> Bool {
    struct End: Error {}
    let known = self
    do {
      try store.changes(from: source, to: target, in: known.wants) { change in
        try note(change)
        guard try isWanted(rows.count) else { throw End() }
      }
    } catch is End {
      return false
    }
    return true
  }

  /// All objects that differ, in the order in which they were made.
  var numbers: [ObjectNumber] { Set(rows.keys).union(lists.keys).sorted() }

  var isEmpty: Bool { rows.isEmpty && lists.isEmpty && unknownKeyspaces.isEmpty }
}

extension RowDifference {
  /// What became of the objects on the way from one generation to another.
  ///
  /// - Complexity: As `Store.changes`, and two rows read for each object that was updated.
  static func changes(
    in store: Store, from source: Snapshot, to target: Snapshot, _ model: StoreModel
  ) throws -> ChangeSet {
    var difference = RowDifference(model)
    try difference.take(store, from: source, to: target)
    let (before, after) = (try StoreView(source, model), try StoreView(target, model))
    var changes = ChangeSet(
      generation: QueryGenerationToken(generation: target.token), stores: [model.space.store])
    for number in difference.numbers {
      guard let storage = model.storage(of: number) else { continue }
      changes.note(
        number, storage, model,
        before: try before.withRecord(number, storage) { try storage.values($0) },
        after: try after.withRecord(number, storage) { try storage.values($0) },
        lists: difference.lists[number] ?? [])
    }
    return changes
  }
}

extension ChangeSet {
  /// Takes down what became of an object.
  ///
  /// - Parameter lists: The slots of its to-many relationships whose members differ.
  mutating func note(
    _ number: ObjectNumber, _ storage: EntityStorage, _ model: StoreModel,
    before: [StoredValue]?, after: [StoredValue]?, lists: Set<Int>
  ) {
    let id = ManagedObjectID(number, model.space)
    let entity = storage.entity
    switch (before, after) {
    // Members are listed of an object that is in neither, if its deletion has left them there.
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
