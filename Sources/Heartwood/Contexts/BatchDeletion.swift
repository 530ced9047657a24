extension BatchDeleteRequest: ExecutableBatch {
  var objectType: ManagedObject.Type { M.self }
  var sentence: String { "deleted rows of \(M.self)" }

  func execute(_ run: inout BatchRun) throws {
    var deletion = BatchDeletion(run: run)
    defer { run = deletion.run }
    if let objectIDs {
      for number in try numbers(objectIDs, run) { deletion.add(number) }
    } else {
      var request = FetchRequest<M>()
      request.predicate = predicate
      request.includesSubentities = includesSubentities
      let plan = try FetchPlan(request, run.model, run.renumbered)
      for storage in plan.storages {
        try run.forEachRow(plan, storage) { _, number, _ in deletion.add(number) }
      }
    }
    try deletion.finish()
  }

  /// The numbers of IDs, which must be of one entity.
  private func numbers(_ ids: [ManagedObjectID], _ run: BatchRun) throws -> [ObjectNumber] {
    let model = run.model
    let entity = try model.schema.requiredEntity(of: M.self)
    return try ids.map { id in
      let number = run.renumbered.resolved(id.number)
      guard id.space.store == model.space.store, !number.isTemporary else {
        throw ObjectGraphError(
          .foreignObject, "\(id) is no row of this store.", objectID: id)
      }
      guard let storage = model.storage(of: number), storage.entity.isKind(of: entity),
        id.number.entity == ids.first?.number.entity
      else {
        throw ObjectGraphError(
          .unknownEntity,
          "The rows of a batch are of one entity; delete those of \(entity.name) and others one "
            + "after the other.", objectID: id)
      }
      return number
    }
  }
}

/// Deletes rows in a transaction, with all that the delete rules of their relationships say.
private struct BatchDeletion {
  var run: BatchRun
  /// What is to be deleted, and how far that has come.
  private var numbers: [ObjectNumber] = []
  private var known: Set<ObjectNumber> = []
  /// What keeps a row from being deleted, unless it is deleted too.
  private var denials: [(number: ObjectNumber, name: String, others: [ObjectNumber])] = []

  init(run: BatchRun) { self.run = run }

  mutating func add(_ number: ObjectNumber) {
    if known.insert(number).inserted { numbers.append(number) }
  }

  /// Deletes what was added and what that entails.
  ///
  /// - Throws: `deniedDelete`.
  mutating func finish() throws {
    var position = 0
    while position < numbers.count {
      try delete(numbers[position])
      position += 1
    }
    for (number, name, others) in denials where others.contains(where: { !known.contains($0) }) {
      throw ObjectGraphError(
        .deniedDelete, "A row cannot be deleted while its \(name) are there.",
        objectID: ManagedObjectID(number, run.model.space))
    }
  }

  private mutating func delete(_ number: ObjectNumber) throws {
    guard let storage = run.model.storage(of: number),
      let row = try run.rows.row(number, storage)
    else { return }
    for property in storage.entity.relationships {
      let others = try related(number, storage, property, row.values)
      switch property.options.deleteRule ?? .nullify {
      case .noAction: continue
      case .deny: denials.append((number, property.name, others))
      case .cascade: for other in others { add(other) }
      case .nullify: break
      }
      guard let inverse = storage.entity.inverses[property.slot] else { continue }
      for other in others { try forget(number, at: other, inverse.property) }
    }
    try run.derived.note(number, storage.entity, before: row.values, after: nil)
    try run.rows.delete(number, storage, row.values)
    run.note(number)
  }

  private func related(
    _ number: ObjectNumber, _ storage: EntityStorage, _ property: PropertyDescription,
    _ values: [StoredValue]
  ) throws -> [ObjectNumber] {
    if case .toOne = property.kind {
      guard case .integer(let bits) = values[property.slot] else { return [] }
      return [ObjectNumber(bits: bits)]
    }
    let keyspace = run.model.memberKeyspace(property, of: storage.entity)
    return try run.view.numbers(in: keyspace, [.integer(number.bits)])
  }

  /// Has the other side of a relationship forget a row; it counts as changed, whichever way that
  /// side is stored.
  private mutating func forget(
    _ number: ObjectNumber, at other: ObjectNumber, _ property: PropertyDescription
  ) throws {
    guard let storage = run.model.storage(of: other), let row = try run.rows.row(other, storage)
    else { return }
    var after = row.values
    var lists: [Int] = []
    switch property.kind {
    case .toOne:
      guard after[property.slot] == .integer(number.bits) else { return }
      after[property.slot] = .null
    case .toMany(let isOrdered):
      lists = [property.slot]
      let keyspace = run.model.memberKeyspace(property, of: storage.entity)
      if isOrdered {
        let members = try run.view.numbers(in: keyspace, [.integer(other.bits)])
        try run.rows.putList(keyspace, other, members.filter { $0 != number })
      } else if run.model.listsMembers(property, of: storage.entity) {
        try run.rows.changeEdges(keyspace, other, [number], areAdded: false)
      }
    case .attribute, .transient: return
    }
    try run.derived.deriveOwn(&after, other, storage)
    run.derived.note(other)
    try run.replace(other, storage, row.values, after, lists: lists)
  }
}
