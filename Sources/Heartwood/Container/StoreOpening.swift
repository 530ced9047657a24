/// Brings a store up to a schema when it is opened: by itself, and in stages.
struct StoreOpening {
  let store: Store
  let schema: Schema
  let options: ContainerOptions

  /// The store as objects of the schema see it.
  ///
  /// Everything is one transaction, the bodies of stages included: it has happened as a whole or
  /// not at all, and who opens the store at the same time waits for it.
  ///
  /// - Throws: `invalidModel` if the stages are in no order; `incompatibleSchema` if the store
  ///   cannot follow; what bodies throw. The store is as it was then.
  func run() throws -> StoreModel {
    try requireOrder()
    let snapshot = try store.snapshot()
    var state = try StoredState(snapshot.keyspace(StoredModel.keyspace).map { .snapshot($0) })
    if let known = state.model, stages(after: known).isEmpty, try known.joined(schema) == known {
      return try state.storeModel(schema, tracksHistory: options.tracksHistory)
    }
    try store.write { transaction in
      // Somebody else may have been here in between.
      state = try StoredState(.transaction(transaction.keyspace(StoredModel.keyspace)))
      if let known = state.model {
        for stage in stages(after: known) { try run(stage, &state, transaction) }
      }
      try state.bringUp(to: schema, transaction, options.progress)
    }
    return try state.storeModel(schema, tracksHistory: options.tracksHistory)
  }

  private func stages(after model: StoredModel) -> [MigrationStage] {
    options.stages.filter { $0.target.version > model.version }
  }

  private func run(
    _ stage: MigrationStage, _ state: inout StoredState, _ transaction: WriteTransaction
  ) throws {
    if let source = stage.source {
      try state.bringUp(to: source, transaction, options.progress)
      try run(stage.willMigrate, source, state, transaction)
    }
    try state.bringUp(to: stage.target, transaction, options.progress)
    try run(stage.didMigrate, stage.target, state, transaction)
  }

  private func run(
    _ body: MigrationStage.Body?, _ schema: Schema, _ state: StoredState,
    _ transaction: WriteTransaction
  ) throws {
    guard let body else { return }
    let model = try state.storeModel(schema, tracksHistory: options.tracksHistory)
    try ManagedObjectContext.run(body, store, model, within: transaction)
  }

  /// Throws if stages do not follow each other, or models of theirs cannot be.
  private func requireOrder() throws {
    var version = Int.min
    for stage in options.stages {
      for schema in [stage.source, stage.target] {
        if let schema { try schema.requireValid() }
      }
      let first = stage.source?.version ?? version
      guard first >= version, stage.target.version > first else {
        throw ObjectGraphError(
          .invalidModel,
          "The stage to version \(stage.target.version) does not follow the one before. List "
            + "stages in the order of their versions, each to a higher one.")
      }
      version = stage.target.version
    }
    guard version <= schema.version else {
      throw ObjectGraphError(
        .invalidModel,
        "The last stage leads to version \(version), beyond that of the Schema, \(schema.version).")
    }
  }
}

extension Schema {
  /// Throws what is wrong with the classes.
  func requireValid() throws(ObjectGraphError) {
    let failures = content.failures
    guard let first = failures.first else { return }
    guard failures.count > 1 else { throw first }
    var all = ObjectGraphError(.invalidModel, "The model has \(failures.count) errors.")
    all.failures = failures
    throw all
  }
}
