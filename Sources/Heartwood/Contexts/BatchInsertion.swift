extension BatchInsertRequest: ExecutableBatch {
  var objectType: ManagedObject.Type { M.self }
  var sentence: String { "inserted rows of \(M.self)" }

  func execute(_ run: inout BatchRun) throws {
    let entity = try run.model.schema.requiredEntity(of: M.self)
    guard !entity.isAbstract else {
      throw ObjectGraphError(
        .unknownEntity, "\(entity.name) is abstract; insert rows of a subclass.")
    }
    let storage = run.model.storage(of: entity)
    let constants = try entity.initialValues()
    let content = BatchRowContent(entity, run.model.schema)
    var row = BatchRow<M>(content: content)
    while true {
      content.begin(entity.hasVolatileDefaults ? try entity.initialValues() : constants)
      let isFinished = try handler(&row)
      try content.requireSuccess()
      if isFinished { return }
      try run.insert(content, storage)
    }
  }
}

extension BatchRun {
  fileprivate mutating func insert(_ row: BatchRowContent, _ storage: EntityStorage) throws {
    let number = try rows.nextNumber(storage)
    try derive(&row.values, number, storage)
    guard let owner = try owner(storage, row.values, besides: nil) else {
      try replace(number, storage, nil, row.values)
      return note(number)
    }
    guard policy.kind != .error, owner.entity == storage.number,
      let stored = try rows.row(owner, storage)
    else { throw constraintConflict(storage, owner) }
    var after = stored.values
    switch policy.kind {
    case .error, .storeTrump, .rollback: return
    case .objectTrump: for slot in row.changed { after[slot] = row.values[slot] }
    case .overwrite:
      for property in storage.entity.columns where property.isAttribute {
        after[property.slot] = row.values[property.slot]
      }
    }
    try derive(&after, owner, storage, before: stored.values)
    if !after.isIdentical(to: stored.values) { try replace(owner, storage, stored.values, after) }
    note(owner)
  }
}
