extension ManagedObjectContext {
  /// Executes a batch request and commits all of its changes as one generation.
  ///
  /// This context's unsaved changes are neither written nor modified.
  ///
  /// - Returns: The number of affected rows and, depending on the result type, their IDs.
  /// - Throws: Any error that the request's closure throws; `constraintConflict`, `deniedDelete`,
  ///   `unknownEntity`, `unknownProperty` or `foreignObject`; any error from writing the store. If
  ///   the method throws, the store is unchanged.
  /// - Complexity: For each row, the request reads or writes the row itself and one entry in each
  ///   of its indexes. The request performs one disk sync. Apart from lists of object IDs, memory
  ///   use does not grow with the number of inserted or updated rows.
  @discardableResult
  public func execute(_ request: some BatchRequest) throws -> BatchResult {
    confinement?.enter()
    defer { confinement?.leave() }
    guard let request = request as? any ExecutableBatch else {
      fatalError(
        "\(type(of: request)) is not a batch request that Heartwood supports. Use a "
          + "BatchInsertRequest, BatchUpdateRequest or BatchDeleteRequest.")
    }
    if let storeContext = otherStoreContext(for: request.objectType) {
      return try storeContext.execute(request)
    }
    let start = ContinuousClock.now
    var numbers: [ObjectNumber] = []
    var count = 0
    let generation = try write { transaction in
      var run = BatchRun(
        self, transaction, changesRelationships: request.changesRelationships,
        keepsNumbers: request.resultType == .objectIDs)
      try request.execute(&run)
      try run.flush()
      try run.changes.finish()
      (numbers, count) = (run.numbers, run.count)
    }
    // Within a transaction, row versions do not reveal which rows were changed, so refresh all
    // objects.
    if case .within = pin { refreshAllObjects() }
    processPendingChanges()
    let duration = start.duration(to: .now)
    ContextLog.executed(request.phrase, count, generation, duration)
    return BatchResult(
      count: count, objectIDs: numbers.map { ManagedObjectID($0, model.space) })
  }
}

/// A batch request that the context can execute.
protocol ExecutableBatch: BatchRequest {
  /// The class whose rows the request changes.
  var objectType: ManagedObject.Type { get }
  var resultType: BatchResultType { get }
  /// The text that describes the request in the log.
  var phrase: String { get }
  /// A Boolean value that indicates whether the request changes relationships.
  var changesRelationships: Bool { get }
  func execute(_ run: inout BatchRun) throws
}

/// The execution of a batch request in one transaction.
struct BatchRun {
  let model: StoreModel
  let rows: RowWriter
  let changes: RowChanges
  let view: StoreView
  /// A map from old object numbers to current object numbers.
  ///
  /// The first save of an object changes its number, so the request may contain old numbers.
  let renumbered: RenumberedObjects
  private let keepsNumbers: Bool
  private(set) var numbers: [ObjectNumber] = []
  private(set) var count = 0

  /// The number of pending changes at which the run writes them.
  private static let flushCount = 256

  init(
    _ context: ManagedObjectContext, _ transaction: WriteTransaction,
    changesRelationships: Bool = true, keepsNumbers: Bool = false
  ) {
    model = context.model
    rows = RowWriter(transaction, context.model, context.origin)
    changes = RowChanges(
      rows, context.model, context.rootContext.mergePolicy.kind,
      areAttributesOnly: !changesRelationships)
    view = StoreView(transaction, context.model)
    renumbered = context.renumbered
    self.keepsNumbers = keepsNumbers
  }

  /// Counts a written row and, if the result contains IDs, records the row's number.
  mutating func recordRow(_ number: ObjectNumber) {
    count += 1
    if keepsNumbers { numbers.append(number) }
  }

  /// Writes the pending changes if there are at least `flushCount` of them.
  mutating func flushIfFull() throws {
    if changes.list.count >= Self.flushCount { try flush() }
  }

  /// Writes the pending changes and counts the inserted and deleted rows.
  mutating func flush() throws {
    let inserted = changes.list.filter(\.isNew).map(\.number)
    try changes.write()
    for number in inserted {
      let row = changes.resolved(number)
      // If the merge policy has kept an existing row instead of the inserted one, do not count the
      // row, because it is unchanged.
      if row == number || changes.policy == .objectTrump || changes.policy == .overwrite {
        recordRow(row)
      }
    }
    for deletion in changes.deletions { recordRow(deletion.change.number) }
    changes.begin()
  }
}
