extension BatchInsertRequest: ExecutableBatch {
  var objectType: ManagedObject.Type { M.self }
  var phrase: String { "inserted rows of \(M.self)" }
  var changesRelationships: Bool { false }

  func execute(_ run: inout BatchRun) throws {
    let entity = try run.model.schema.requiredEntity(of: M.self)
    guard !entity.isAbstract else {
      throw ObjectGraphError(
        .unknownEntity,
        "\(entity.name) is abstract, so it cannot be instantiated. Insert objects of a subclass "
          + "instead.")
    }
    let storage = run.model.storage(of: entity)
    let declared = try entity.declaredValues()
    let content = BatchRowContent(entity, run.model.schema)
    var row = BatchRow<M>(content: content)
    var isFinished = false
    while !isFinished {
      content.begin(try entity.initialValues(declared))
      isFinished = try handler(&row)
      try content.requireSuccess()
      if !isFinished { try run.insert(content, storage) }
    }
  }
}

extension BatchRun {
  fileprivate mutating func insert(_ row: BatchRowContent, _ storage: EntityStorage) throws {
    let change = RowChange(
      try rows.nextNumber(storage), storage, before: nil, after: row.values)
    change.isNew = true
    change.assigned = row.changed
    changes.add(change)
    try flushIfFull()
  }
}
