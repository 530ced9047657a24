import Synchronization

/// The rows of a store as of one generation, or as a transaction has made them so far, or none.
final class StoreView {
  private enum Source {
    case nothing
    case snapshot(Snapshot)
    case transaction(WriteTransaction)
  }

  private let source: Source
  let model: StoreModel
  /// Set at every use, for those who let go of views nobody uses.
  let wasUsed = Atomic(true)
  private var keyspaces: [String: RowsKeyspace?] = [:]
  private var objectKeyspaces: [RowsKeyspace??]

  /// The rows of a generation.
  ///
  /// - Throws: `incompatibleSchema` if they were written with another model.
  init(_ snapshot: Snapshot, _ model: StoreModel) throws {
    try model.requireCurrent(snapshot.keyspace(StoredModel.keyspace).map { .snapshot($0) })
    source = .snapshot(snapshot)
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
  }

  /// No rows: those of a store that a generation does not cover.
  init(emptyOf model: StoreModel) {
    source = .nothing
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
  }

  /// The rows within a transaction; must not be used after it.
  init(_ transaction: WriteTransaction, _ model: StoreModel) {
    source = .transaction(transaction)
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
  }

  /// What is pinned; `nil` within a transaction, and if there are no rows.
  var snapshot: Snapshot? {
    if case .snapshot(let snapshot) = source { return snapshot }
    return nil
  }

  /// Whether it has no rows because there is no store.
  var isOfNothing: Bool {
    if case .nothing = source { return true }
    return false
  }

  /// Whether it can still be read: not if the store was suspended since.
  var isCurrent: Bool {
    guard let snapshot else { return true }
    return (try? snapshot.requireCurrent()) != nil
  }

  private func open(_ name: String) throws -> RowsKeyspace? {
    switch source {
    case .nothing: nil
    case .snapshot(let snapshot): try snapshot.keyspace(name).map { .snapshot($0) }
    // Made if it is not there: it could be made later on, and must not be missed then.
    case .transaction(let transaction): .transaction(try transaction.keyspace(name))
    }
  }

  /// A keyspace; `nil` if nothing was ever put into it.
  func keyspace(_ name: String) throws -> RowsKeyspace? {
    if let known = keyspaces[name] { return known }
    let keyspace = try open(name)
    keyspaces[name] = .some(keyspace)
    return keyspace
  }

  /// The records of an entity.
  func objects(_ storage: EntityStorage) throws -> RowsKeyspace? {
    if let known = objectKeyspaces[storage.entity.position] { return known }
    let keyspace = try open(storage.keyspace)
    objectKeyspaces[storage.entity.position] = .some(keyspace)
    return keyspace
  }

  /// Calls `body` with the record of an object.
  ///
  /// - Returns: `nil` if there is none, as for a temporary number.
  func withRecord<Result>(
    _ number: ObjectNumber, _ storage: EntityStorage, _ body: (RecordView) throws -> Result
  ) throws -> Result? {
    guard !number.isTemporary else { return nil }
    return try objects(storage)?.withValue(number.row) { try $0.withRecord(storage.layouts, body) }
  }

  /// The numbers that a keyspace of edges, or of an index that is not unique, has for its first
  /// parts, in the order of the keys.
  func numbers(in keyspace: String, _ values: [StoredValue]) throws -> [ObjectNumber] {
    guard let reader = try self.keyspace(keyspace) else { return [] }
    var result: [ObjectNumber] = []
    let range = EntryRange(values)
    try reader.forEach(from: range.lower, upTo: range.upper) { key, value in
      result.append(try EntryKey.number(key, value))
      return true
    }
    return result
  }

  /// The number that a unique index has for its values, whose key must not be shortened.
  func number(in keyspace: String, _ values: [StoredValue]) throws -> ObjectNumber? {
    try self.keyspace(keyspace)?.withValue(EntryKey.key(values)) {
      ObjectNumber(bits: try $0.number())
    }
  }
}
