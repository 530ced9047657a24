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
      fatalError("\(type(of: request)) is none of Heartwood's batch requests")
    }
    if let part = otherPart(for: request.objectType) { return try part.execute(request) }
    let start = ContinuousClock.now
    var numbers: [ObjectNumber] = []
    var count = 0
    let generation = try write { transaction in
      var run = BatchRun(self, transaction, request)
      try request.execute(&run)
      try run.flush()
      try run.changes.finish()
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
  /// Whether rows are related otherwise than before.
  var changesRelationships: Bool { get }
  func execute(_ run: inout BatchRun) throws
}

/// A batch request while it is executed, in one transaction.
struct BatchRun {
  let model: StoreModel
  let rows: RowWriter
  let changes: RowChanges
  let view: StoreView
  /// The numbers that objects had when IDs of them were put into the request.
  let renumbered: RenumberedObjects
  private let keepsNumbers: Bool
  private(set) var numbers: [ObjectNumber] = []
  private(set) var count = 0

  /// The most changes that wait to be written together.
  private static let flushCount = 256

  init(
    _ context: ManagedObjectContext, _ transaction: WriteTransaction,
    _ request: some ExecutableBatch
  ) {
    model = context.model
    rows = RowWriter(transaction, context.model, context.origin)
    changes = RowChanges(
      rows, context.model, context.whole.mergePolicy.kind,
      areAttributesOnly: !request.changesRelationships)
    view = StoreView(transaction, context.model)
    renumbered = context.renumbered
    keepsNumbers = request.resultType == .objectIDs
  }

  /// Counts a row that was written.
  mutating func note(_ number: ObjectNumber) {
    count += 1
    if keepsNumbers { numbers.append(number) }
  }

  /// Writes the changes that wait if there are enough of them.
  mutating func flushIfFull() throws {
    if changes.list.count >= Self.flushCount { try flush() }
  }

  /// Writes the changes that wait, and counts the rows that were inserted or deleted.
  mutating func flush() throws {
    let inserted = changes.list.filter(\.isNew).map(\.number)
    try changes.write()
    for number in inserted {
      let row = changes.resolved(number)
      // A row that was met and stays as it is does not count.
      if row == number || changes.policy == .objectTrump || changes.policy == .overwrite {
        note(row)
      }
    }
    for deletion in changes.deletions { note(deletion.change.number) }
    changes.begin()
  }
}
