import Synchronization

/// A view of a store's rows in a generation or within a transaction.
///
/// The view is empty if the generation does not cover the store.
final class StoreView {
  private enum Source {
    case empty
    case snapshot(Snapshot)
    case transaction(WriteTransaction)
  }

  private let source: Source
  let model: StoreModel
  /// A Boolean value that indicates whether the view has been used since the flag was last cleared.
  ///
  /// Every use of the view sets the flag. Views whose flag stays cleared are unused and can be
  /// released.
  let wasUsed = Atomic(true)
  private var keyspaces: [String: RowsKeyspace?] = [:]
  private var objectKeyspaces: [RowsKeyspace??]

  /// Creates a view of the rows in a generation.
  ///
  /// - Throws: `incompatibleSchema` if the rows were written with another model.
  init(_ snapshot: Snapshot, _ model: StoreModel) throws {
    try model.requireCurrent(snapshot.keyspace(StoredModel.keyspace).map { .snapshot($0) })
    source = .snapshot(snapshot)
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
  }

  /// Creates an empty view for a store that is not covered by a generation.
  init(emptyOf model: StoreModel) {
    source = .empty
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
  }

  /// Creates a view of the rows within a transaction.
  ///
  /// The view must not be used after the transaction has ended.
  init(_ transaction: WriteTransaction, _ model: StoreModel) {
    source = .transaction(transaction)
    self.model = model
    objectKeyspaces = Array(repeating: nil, count: model.entities.count)
  }

  /// The pinned snapshot, or `nil` if the view is empty or belongs to a transaction.
  var snapshot: Snapshot? {
    if case .snapshot(let snapshot) = source { return snapshot }
    return nil
  }

  /// A Boolean value that indicates whether the view is empty because its generation does not cover
  /// the store.
  var isEmpty: Bool {
    if case .empty = source { return true }
    return false
  }

  /// A Boolean value that indicates whether the view can still be read.
  ///
  /// A view can no longer be read after the store has been suspended.
  var isCurrent: Bool {
    guard let snapshot else { return true }
    return (try? snapshot.requireCurrent()) != nil
  }

  private func open(_ name: String) throws -> RowsKeyspace? {
    switch source {
    case .empty: nil
    case .snapshot(let snapshot): try snapshot.keyspace(name).map { .snapshot($0) }
    // Create the keyspace if it is missing, because a cached `nil` would hide a keyspace that is
    // created later in the transaction.
    case .transaction(let transaction): .transaction(try transaction.keyspace(name))
    }
  }

  /// Returns a keyspace, or `nil` if nothing has ever been written to it.
  func keyspace(_ name: String) throws -> RowsKeyspace? {
    if let known = keyspaces[name] { return known }
    let keyspace = try open(name)
    keyspaces[name] = .some(keyspace)
    return keyspace
  }

  /// Returns the keyspace of an entity's records.
  func objects(_ storage: EntityStorage) throws -> RowsKeyspace? {
    if let known = objectKeyspaces[storage.entity.position] { return known }
    let keyspace = try open(storage.keyspace)
    objectKeyspaces[storage.entity.position] = .some(keyspace)
    return keyspace
  }

  /// Calls `body` with the record of an object.
  ///
  /// - Returns: The result of `body`, or `nil` if the row does not exist. An object with a
  ///   temporary number has no row.
  func withRecord<Result>(
    _ number: ObjectNumber, _ storage: EntityStorage, _ body: (RecordView) throws -> Result
  ) throws -> Result? {
    guard !number.isTemporary else { return nil }
    return try objects(storage)?.withValue(number.row) { try $0.withRecord(storage.layouts, body) }
  }

  /// Returns the object numbers of the entries whose keys begin with the given values.
  ///
  /// The entries are read in ascending order of their keys. `keyspace` must contain edges or be a
  /// non-unique index.
  func numbers(in keyspace: String, _ values: [StoredValue]) throws -> [ObjectNumber] {
    var result: [ObjectNumber] = []
    let range = EntryRange(values)
    try self.keyspace(keyspace)?.forEach(from: range.lower, upTo: range.upper) { key, value in
      result.append(try EntryKey.number(key, value))
      return true
    }
    return result
  }

  /// Returns the number of the object that has the given values in a unique index, or `nil` if
  /// there is no such object.
  func owner(
    _ index: IndexDescription, _ values: [StoredValue], _ model: StoreModel
  ) throws -> ObjectNumber? {
    let key = EntryKey.key(values)
    guard let entries = try keyspace(model.keyspace(index)) else { return nil }
    guard key.bytes.count > Limits.maxKeyByteCount else {
      return try entries.withValue(key) { ObjectNumber(bits: try $0.number()) }
    }
    return try entries.owner(index, values, key) { number in
      guard let storage = model.storage(of: number) else { return nil }
      return try withRecord(number, storage) { try storage.values($0) }
    }
  }
}
