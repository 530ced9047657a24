import Foundation

extension StoredModel {
  /// The key of the store's own identity, which its objects' IDs carry.
  private static let identityKey = "store"

  /// The model of a store, which is written if it is not what `schema` makes of it.
  static func bringUp(_ store: Store, to schema: Schema) throws -> (StoredModel, UUID) {
    let snapshot = try store.snapshot()
    if let known = try read(snapshot), try known.joined(schema) == known,
      let identity = try identity(snapshot.keyspace(keyspace)?.get(identityKey))
    {
      return (known, identity)
    }
    var result: (StoredModel, UUID)?
    try store.write { transaction in
      let own = try transaction.keyspace(keyspace)
      // Somebody else may have been here in between.
      let known = try own.get(key).map { try decoded($0) }
      let joined = try (known ?? StoredModel(version: schema.version)).joined(schema)
      let identity = try identity(own.get(identityKey)) ?? UUID()
      let model = try StoreModel(schema.content, joined, store: identity)
      let changed = try DerivedBuilding(model: model, stored: joined, before: known)
        .run(transaction)
      try IndexBuilding(model: model, before: known, changed: changed).run(transaction)
      try own.put(key, joined.encoded())
      try own.put(identityKey, Array(identity.uuidString.utf8))
      result = (joined, identity)
    }
    guard let result else { preconditionFailure("a transaction that has not run") }
    return result
  }

  private static func identity(_ bytes: [UInt8]?) throws -> UUID? {
    guard let bytes else { return nil }
    guard let identity = UUID(uuidString: String(decoding: bytes, as: UTF8.self)) else {
      throw StorageError(.corrupt, "The identity of the object graph is damaged.")
    }
    return identity
  }
}
