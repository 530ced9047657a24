/// The migration of a store to a schema, performed while the store is being opened.
///
/// The custom stages run first, followed by the automatic migration.
struct StoreOpening {
  let store: Store
  let schema: Schema
  let options: ContainerOptions

  /// Migrates the store and returns its model.
  ///
  /// The migration, including the bodies of stages, is one transaction, which is applied completely
  /// or not at all. Another process that opens the store at the same time waits.
  ///
  /// - Throws: `invalidModel` if the stages are not in order; `incompatibleSchema` if the store
  ///   cannot be migrated; errors that the bodies throw. If the method throws, the store is
  ///   unchanged.
  func run() throws -> StoreModel {
    try requireOrder()
    let snapshot = try store.snapshot()
    var state = try StoredState(snapshot.keyspace(StoredModel.keyspace).map { .snapshot($0) })
    if let known = state.model, stages(after: known).isEmpty,
      try known.reconciled(with: schema, in: { try snapshot.keyspace($0).map { .snapshot($0) } })
        == known
    {
      updateDeclarations(in: known, snapshot)
      return try state.storeModel(schema, tracksHistory: options.tracksHistory)
    }
    try store.write { transaction in
      // Read the state again, because another process may have migrated the store since the first
      // read.
      state = try StoredState(.transaction(transaction.keyspace(StoredModel.keyspace)))
      if let known = state.model {
        for stage in stages(after: known) { try run(stage, &state, transaction) }
      }
      try state.migrate(to: schema, transaction, options.progress)
      try writeDeclarations(transaction)
    }
    return try state.storeModel(schema, tracksHistory: options.tracksHistory)
  }

  /// Records the declarations of the schema's classes if they have changed.
  ///
  /// Errors are ignored, because programs do not depend on these declarations. The next time the
  /// store is opened, the method tries again.
  private func updateDeclarations(in model: StoredModel, _ snapshot: Snapshot) {
    guard !options.store.isReadOnly,
      let keyspace = try? snapshot.keyspace(StoredModel.keyspace),
      (try? changedDeclarations(.snapshot(keyspace), model)) != nil
    else { return }
    _ = try? store.write { try writeDeclarations($0) }
  }

  private func writeDeclarations(_ transaction: WriteTransaction) throws {
    let keyspace = try transaction.keyspace(StoredModel.keyspace)
    guard let model = try StoredState(.transaction(keyspace)).model,
      let new = try changedDeclarations(.transaction(keyspace), model)
    else { return }
    try keyspace.put(StoredDeclarations.key, new.encoded())
  }

  /// Returns the declarations to write, or `nil` if they are unchanged.
  private func changedDeclarations(
    _ keyspace: RowsKeyspace, _ model: StoredModel
  ) throws -> StoredDeclarations? {
    // Treat declarations that cannot be decoded as missing, so that they are replaced.
    let known = (try? StoredDeclarations.read(keyspace)) ?? nil
    let new = try (known ?? StoredDeclarations()).updated(for: schema.content, in: model)
    return new == known ? nil : new
  }

  private func stages(after model: StoredModel) -> [MigrationStage] {
    options.stages.filter { $0.target.version > model.version }
  }

  private func run(
    _ stage: MigrationStage, _ state: inout StoredState, _ transaction: WriteTransaction
  ) throws {
    if let source = stage.source {
      try state.migrate(to: source, transaction, options.progress)
      try run(stage.willMigrate, source, state, transaction)
    }
    try state.migrate(to: stage.target, transaction, options.progress)
    try run(stage.didMigrate, stage.target, state, transaction)
  }

  private func run(
    _ body: MigrationStage.Body?, _ schema: Schema, _ state: StoredState,
    _ transaction: WriteTransaction
  ) throws {
    guard let body else { return }
    let model = try state.storeModel(schema, tracksHistory: options.tracksHistory)
    try ManagedObjectContext.run(store, model, within: transaction, body)
  }

  /// Throws if the stages are not in order, or if one of their models is invalid.
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
          "The migration stage with target version \(stage.target.version) is out of order. List "
            + "the stages in ascending order. In each stage, the target version must be higher "
            + "than the source version.")
      }
      version = stage.target.version
    }
    guard version <= schema.version else {
      throw ObjectGraphError(
        .invalidModel,
        "The last migration stage migrates to version \(version), but the schema has version "
          + "\(schema.version). Set the schema's version to \(version) or higher.")
    }
  }
}

extension Schema {
  /// Throws an error if the classes of the schema are invalid.
  ///
  /// If there are several errors, the thrown error lists all of them.
  func requireValid() throws(ObjectGraphError) {
    let failures = content.failures
    guard let first = failures.first else { return }
    guard failures.count > 1 else { throw first }
    var all = ObjectGraphError(
      .invalidModel,
      "The model has \(failures.count) errors. Correct the errors listed in `failures`.")
    all.failures = failures
    throw all
  }
}
