extension ManagedObjectContext {
  /// Changes rows of the store as a request says, as one generation.
  ///
  /// What was changed in this context and not saved does not count, and stays as it is.
  ///
  /// - Returns: How many rows there were, and their IDs if the request asks for them.
  /// - Throws: What the request's closure throws; `constraintConflict`, `deniedDelete`,
  ///   `unknownEntity`, `unknownProperty` or `foreignObject`; what kept the store from being
  ///   written. Nothing is changed then.
  /// - Complexity: One row read or written for each row of the request, and an entry for each of
  ///   its indexes; one sync. Memory does not grow with rows that are inserted or updated.
  @discardableResult
  public func execute(_ request: some BatchRequest) throws -> BatchResult {
    confinement?.enter()
    defer { confinement?.leave() }
    guard let request = request as? any ExecutableBatch else {
      preconditionFailure("\(type(of: request)) is none of Heartwood's batch requests")
    }
    if let part = otherPart(for: request.objectType) { return try part.execute(request) }
    let start = ContinuousClock.now
    var numbers: [ObjectNumber] = []
    var count = 0
    let generation = try write { transaction in
      var run = BatchRun(self, transaction, keepsNumbers: request.resultType == .objectIDs)
      try request.execute(&run)
      try run.derived.finish()
      try run.rows.finish()
      (numbers, count) = (run.numbers, run.count)
    }
    // Within one transaction versions do not tell what was changed in between.
    if case .within = pin { refreshAllObjects() }
    processPendingChanges()
    let duration = start.duration(to: .now)
    ContextLog.executed(request.sentence, count, generation, duration)
    return BatchResult(
      count: count, objectIDs: numbers.map { ManagedObjectID($0, model.space) })
  }
}

/// A batch request that the context knows how to execute.
protocol ExecutableBatch: BatchRequest {
  /// The class of the objects whose rows it is about.
  var objectType: ManagedObject.Type { get }
  var resultType: BatchResultType { get }
  /// What it does, for the log.
  var sentence: String { get }
  func execute(_ run: inout BatchRun) throws
}

/// A batch request while it is executed, in one transaction.
struct BatchRun {
  let model: StoreModel
  let policy: MergePolicy
  let rows: RowWriter
  var derived: DerivedRows
  let view: StoreView
  private let keepsNumbers: Bool
  private(set) var numbers: [ObjectNumber] = []
  private(set) var count = 0

  init(_ context: ManagedObjectContext, _ transaction: WriteTransaction, keepsNumbers: Bool) {
    model = context.model
    policy = context.whole.mergePolicy
    rows = RowWriter(transaction, context.model, context.origin)
    derived = DerivedRows(rows, context.model)
    view = StoreView(transaction, context.model)
    self.keepsNumbers = keepsNumbers
  }

  /// Counts a row that was written.
  mutating func note(_ number: ObjectNumber) {
    count += 1
    if keepsNumbers { numbers.append(number) }
  }

  /// Computes the derived attributes of a row whose relationships stay as they are, and so what is
  /// computed over them.
  func derive(
    _ values: inout [StoredValue], _ number: ObjectNumber, _ storage: EntityStorage,
    before: [StoredValue]? = nil
  ) throws {
    try derived.deriveOwn(&values, number, storage)
    for attribute in storage.entity.derived where attribute.isOverRelationship {
      values[attribute.slot] = try before?[attribute.slot] ?? attribute.value([]) ?? .null
    }
  }

  /// Writes a row in place of what it was.
  ///
  /// - Parameter lists: The slots of to-many relationships that were changed.
  mutating func replace(
    _ number: ObjectNumber, _ storage: EntityStorage, _ before: [StoredValue]?,
    _ after: [StoredValue], lists: [Int] = []
  ) throws {
    try rows.removeEntries(number, storage, before)
    try rows.putReferences(number, storage, after, before: before)
    try derived.note(
      number, storage.entity, before: before, after: after, isNew: before == nil)
    try rows.put(number, storage, after, before: before, lists: lists)
  }

  /// The row that has the unique values another one would have; `nil` if there is none.
  ///
  /// - Throws: `constraintConflict` if there are two.
  func owner(
    _ storage: EntityStorage, _ values: [StoredValue], besides number: ObjectNumber?
  ) throws -> ObjectNumber? {
    var found: ObjectNumber?
    for index in storage.entity.indexes
    where index.isUnique && !index.isOverRelationship {
      let parts = index.slots.map { values[$0] }
      guard !parts.contains(.null),
        let owner = try rows.owner(index, parts), owner != number
      else { continue }
      guard found == nil || found == owner else { throw conflict(index, owner) }
      found = owner
    }
    return found
  }

  private func conflict(_ index: IndexDescription, _ owner: ObjectNumber) -> ObjectGraphError {
    let names = index.slots.map { index.entity.properties[$0].name }.joined(separator: ", ")
    return ObjectGraphError(
      .constraintConflict,
      "A row of the request would have the unique values of two others, one of them its \(names).",
      objectID: ManagedObjectID(owner, model.space))
  }

  /// Says that a row has the unique values of another one.
  func constraintConflict(_ storage: EntityStorage, _ owner: ObjectNumber) -> ObjectGraphError {
    ObjectGraphError(
      .constraintConflict,
      "There is a \(storage.entity.name) with the same unique values already. Set a mergePolicy, "
        + "or leave it out.",
      objectID: ManagedObjectID(owner, model.space))
  }
}
