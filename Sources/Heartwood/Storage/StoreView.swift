import Synchronization

/// The rows of a store as of one generation.
final class StoreView {
  let snapshot: Snapshot
  /// Set at every use, for those who let go of views nobody uses.
  let wasUsed = Atomic(true)
  let model: StoreModel
  private var readers: [String: KeyspaceReader?] = [:]
  private var objectReaders: [KeyspaceReader??]

  init(_ snapshot: Snapshot, _ model: StoreModel) {
    self.snapshot = snapshot
    self.model = model
    objectReaders = Array(repeating: nil, count: model.entities.count)
  }

  /// A keyspace; `nil` if nothing was ever put into it.
  func keyspace(_ name: String) throws -> KeyspaceReader? {
    if let known = readers[name] { return known }
    let reader = try snapshot.keyspace(name)
    readers[name] = .some(reader)
    return reader
  }

  /// The records of an entity.
  func objects(_ storage: EntityStorage) throws -> KeyspaceReader? {
    if let known = objectReaders[storage.entity.position] { return known }
    let reader = try snapshot.keyspace(storage.keyspace)
    objectReaders[storage.entity.position] = .some(reader)
    return reader
  }

  /// Calls `body` with the record of an object.
  ///
  /// - Returns: `nil` if there is none.
  func withRecord<Result>(
    _ number: ObjectNumber, _ storage: EntityStorage, _ body: (RecordView) throws -> Result
  ) throws -> Result? {
    try objects(storage)?.withValue(number.row) { try $0.withRecord(storage.layouts, body) }
  }

  /// The numbers that a keyspace of edges, or of an index that is not unique, has for its first
  /// parts, in the order of the keys.
  func numbers(in keyspace: String, _ values: [StoredValue]) throws -> [ObjectNumber] {
    guard let reader = try self.keyspace(keyspace) else { return [] }
    var result: [ObjectNumber] = []
    let range = EntryRange(values)
    try reader.forEach(from: range.lower) { key, value in
      guard range.contains(key) else { return false }
      result.append(try EntryKey.number(key, value))
      return true
    }
    return result
  }

  /// The number that a unique index has for its values.
  func number(in keyspace: String, _ values: [StoredValue]) throws -> ObjectNumber? {
    try self.keyspace(keyspace)?.withValue(EntryKey.key(values)) {
      ObjectNumber(bits: try $0.number())
    }
  }
}
