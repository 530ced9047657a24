extension BatchUpdateRequest: ExecutableBatch {
  var objectType: ManagedObject.Type { M.self }
  var phrase: String { "updated rows of \(M.self)" }
  var changesRelationships: Bool { false }

  func execute(_ run: inout BatchRun) throws {
    var request = FetchRequest<M>()
    request.predicate = predicate
    request.includesSubentities = includesSubentities
    let plan = try FetchPlan(request, run.model, run.renumbered)
    var updates = plan.storages.map { RowUpdate<M>($0, run.model) }
    // If the predicate depends on other rows, find all matching rows before changing any of them,
    // because a change could affect whether other rows match.
    var later: [(position: Int, number: ObjectNumber)] = []
    for position in updates.indices {
      try run.forEachRow(plan, plan.storages[position]) { run, number, values in
        if plan.dependsOnOtherObjects { return later.append((position, number)) }
        try updates[position].apply(change, number, values, &run)
      }
    }
    for (position, number) in later {
      if let row = try run.rows.row(number, plan.storages[position]) {
        try updates[position].apply(change, number, row.values, &run)
      }
    }
  }
}

/// A batch update of one entity's rows.
private struct RowUpdate<M: ManagedObject> {
  let storage: EntityStorage
  let content: BatchRowContent
  var row: BatchRow<M>

  init(_ storage: EntityStorage, _ model: StoreModel) {
    self.storage = storage
    content = BatchRowContent(storage.entity, model.schema)
    row = BatchRow(content: content)
  }

  mutating func apply(
    _ change: (inout BatchRow<M>) throws -> Void, _ number: ObjectNumber,
    _ values: [StoredValue], _ run: inout BatchRun
  ) throws {
    content.begin(values)
    try change(&row)
    try content.requireSuccess()
    try run.update(number, storage, values, content)
  }
}

extension BatchRun {
  /// Calls `body` with each row in `storage` that matches `plan`.
  ///
  /// `body` may change the row, unless the conditions of the plan depend on other rows.
  mutating func forEachRow(
    _ plan: FetchPlan, _ storage: EntityStorage,
    _ body: (inout BatchRun, ObjectNumber, [StoredValue]) throws -> Void
  ) throws {
    let scope = QueryScope(model, view, variableCount: plan.variableCount) { _ in nil }
    if let numbers = try RowSearch(plan, view, model).numbers(scope) {
      for number in numbers where number.entity == storage.number {
        let values: [StoredValue]?? = try view.withRecord(number, storage) { record in
          try scope.with(record, storage, number) {
            try plan.holds(in: scope) ? try storage.values(record) : nil
          }
        }
        if case .some(.some(let values)) = values { try body(&self, number, values) }
      }
      return
    }
    try view.objects(storage)?.forEachRow(of: storage) { number, record in
      try scope.with(record, storage, number) {
        try plan.holds(in: scope) ? try storage.values(record) : nil
      }
    } _: { batch in
      for (number, values) in batch { try body(&self, number, values) }
    }
  }

  fileprivate mutating func update(
    _ number: ObjectNumber, _ storage: EntityStorage, _ before: [StoredValue],
    _ row: BatchRowContent
  ) throws {
    var after = row.values
    // Keep the values of attributes that are derived from related objects, because these values
    // depend only on other rows.
    for attribute in storage.entity.derived where attribute.isOverRelationship {
      after[attribute.slot] = before[attribute.slot]
    }
    if !after.isIdentical(to: before) {
      changes.add(RowChange(number, storage, before: before, after: after))
      // Write rows with unique constraints one at a time, because a row cannot take over a unique
      // value until the row that holds the value has released it.
      if storage.hasUniqueConstraints { try flush() } else { try flushIfFull() }
    }
    recordRow(number)
  }
}
