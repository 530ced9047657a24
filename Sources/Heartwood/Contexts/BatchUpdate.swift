extension BatchUpdateRequest: ExecutableBatch {
  var sentence: String { "updated rows of \(M.self)" }

  func execute(_ run: inout BatchRun) throws {
    var request = FetchRequest<M>()
    request.predicate = predicate
    request.includesSubentities = includesSubentities
    let plan = try FetchPlan(request, run.model)
    for storage in plan.storages {
      let content = BatchRowContent(storage.entity, run.model.schema)
      var row = BatchRow<M>(content: content)
      try run.forEachRow(plan, storage) { run, number, values in
        content.values = values
        content.changed.removeAll(keepingCapacity: true)
        try change(&row)
        try content.requireSuccess()
        try run.update(number, storage, values, content)
      }
    }
  }
}

extension BatchRun {
  /// Rows that are taken up at a time.
  private static let batchCount = 1000

  /// Calls `body` with each row of an entity that a plan asks for; it may change the row.
  mutating func forEachRow(
    _ plan: FetchPlan, _ storage: EntityStorage,
    _ body: (inout BatchRun, ObjectNumber, [StoredValue]) throws -> Void
  ) throws {
    if let numbers = try plan.indexedNumbers(storage, view, model) {
      for number in numbers where number.entity == storage.number {
        let values: [StoredValue]?? = try view.withRecord(number, storage) { record in
          try plan.holds(for: record, storage) ? try storage.values(record) : nil
        }
        if case .some(.some(let values)) = values { try body(&self, number, values) }
      }
      return
    }
    // A batch at a time, since what lies in the pages moves as rows are written.
    var next: Int64? = 0
    while let first = next {
      var batch: [(number: ObjectNumber, values: [StoredValue])] = []
      next = nil
      try view.objects(storage)?.forEach(from: Key(first)) { key, value in
        let row = try key.lastKeyPart()
        guard batch.count < Self.batchCount else {
          next = row
          return false
        }
        try value.withRecord(storage.layouts) { record in
          guard try plan.holds(for: record, storage) else { return }
          batch.append(
            (ObjectNumber(entity: storage.number, row: row), try storage.values(record)))
        }
        return true
      }
      for (number, values) in batch { try body(&self, number, values) }
    }
  }

  fileprivate mutating func update(
    _ number: ObjectNumber, _ storage: EntityStorage, _ before: [StoredValue],
    _ row: BatchRowContent
  ) throws {
    if row.values != before {
      try derive(&row.values, number, storage, before: before)
      if let owner = try owner(storage, row.values, besides: number) {
        throw constraintConflict(storage, owner)
      }
      try replace(number, storage, before, row.values)
    }
    note(number)
  }
}
