import Foundation

/// The object graph metadata of a store.
struct StoredState {
  /// The model, or `nil` if the store has never been opened with a model.
  private(set) var model: StoredModel?
  /// The store's identifier, as used in object IDs.
  let identity: UUID
  private var changeCount: Int64

  static let identityKey: Key = "store"

  init(_ keyspace: RowsKeyspace?) throws {
    func bytes(_ key: Key) throws -> [UInt8]? { try keyspace?.withValue(key) { $0.copy } }
    model = try bytes(Key(StoredModel.key)).map { try StoredModel.decoded($0) }
    changeCount = try keyspace?.withValue(StoredModel.changesKey) { try $0.number() } ?? 0
    guard changeCount >= 0, changeCount < .max else {
      throw StorageError(
        .corrupt, "The store is corrupt: its count of model changes is invalid. Restore a backup.")
    }
    guard let text = try bytes(Self.identityKey) else {
      guard model == nil else { throw Self.damage }
      identity = UUID()
      return
    }
    guard let known = UUID(uuidString: String(decoding: text, as: UTF8.self)) else {
      throw Self.damage
    }
    identity = known
  }

  private static var damage: StorageError {
    StorageError(
      .corrupt,
      "The store is corrupt: the identifier that it uses in object URIs is invalid. Restore a "
        + "backup.")
  }

  /// Returns the schema, together with the keyspaces and record layouts of its entities in this
  /// store.
  func storeModel(_ schema: Schema, tracksHistory: Bool) throws -> StoreModel {
    try StoreModel(
      schema.content, model ?? StoredModel(version: schema.version), store: identity,
      changeCount: changeCount, tracksHistory: tracksHistory)
  }

  /// Migrates the store to a schema.
  ///
  /// - Throws: `incompatibleSchema` if the migration is impossible. The error lists each
  ///   difference.
  mutating func migrate(
    to schema: Schema, _ transaction: WriteTransaction,
    _ progress: (@Sendable (MigrationProgress) -> Void)?
  ) throws {
    let before = model ?? StoredModel(version: schema.version)
    let reconciled = try before.reconciled(with: schema) { name in
      let isThere = try transaction.keyspaceNames.contains(name)
      return isThere ? .transaction(try transaction.keyspace(name)) : nil
    }
    if reconciled.entities != before.entities { changeCount += 1 }
    model = reconciled
    if reconciled != before {
      try MigrationStep(
        transaction: transaction, before: before, stored: reconciled,
        model: try storeModel(schema, tracksHistory: false), progress: progress
      ).run()
    }
    var count: [UInt8] = []
    count.append(littleEndian: changeCount)
    let own = try transaction.keyspace(StoredModel.keyspace)
    try own.put(StoredModel.key, reconciled.encoded())
    try own.put(StoredModel.changesKey, count)
    try own.put(Self.identityKey, Array(identity.uuidString.utf8))
  }
}
