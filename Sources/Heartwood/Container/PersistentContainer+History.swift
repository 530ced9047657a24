public import Foundation

extension PersistentContainer {
  /// Returns the transactions that follow a token in the history.
  ///
  /// Each save or batch request by any process is one transaction. Transactions of one store are in
  /// commit order. Transactions of different stores are ordered by time. For a store that the token
  /// does not cover, the complete history is returned.
  ///
  /// - Parameter token: The position after which to start, or `nil` for all transactions that
  ///   have not been deleted.
  /// - Throws: `historyExpired` if some of the transactions have been deleted, or if the store was
  ///   restored to a state from before the token; `foreignStore` if the token belongs to other
  ///   stores; `corrupt` or `io`.
  /// - Complexity: Each database page that contains returned transactions is read once.
  public func fetchHistory(
    after token: PersistentHistoryToken?
  ) throws -> [PersistentHistoryTransaction] {
    let attachedStores = group.attachedStores
    if let token { try requireOwn(token, attachedStores) }
    var merge = HistoryMerge(after: token)
    for attached in attachedStores {
      try merge.add(
        HistoryReader(try attached.store.snapshot(), attached.model), of: attached.model)
    }
    return merge.transactions()
  }

  /// The token of the newest transaction in the history, or `nil` if no transaction has ever been
  /// recorded.
  ///
  /// The token covers all stores of the container, including those without transactions.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Reads one row for each store.
  public var currentHistoryToken: PersistentHistoryToken? {
    get throws {
      let positions = try newestHistoryPositions()
      guard positions.values.contains(where: { $0.sequence > 0 }) else { return nil }
      return PersistentHistoryToken(positions)
    }
  }

  /// Returns the newest position in each store's history.
  func newestHistoryPositions() throws -> [UUID: HistoryPosition] {
    var positions: [UUID: HistoryPosition] = [:]
    for attached in group.attachedStores {
      positions[attached.model.space.store] =
        try HistoryReader(try attached.store.snapshot(), attached.model).newestPosition()
    }
    return positions
  }

  /// Returns the transactions committed after a date, according to the clocks of the writing
  /// processes.
  ///
  /// Deleted transactions are omitted.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Reads each database page of the history once.
  public func fetchHistory(after date: Date) throws -> [PersistentHistoryTransaction] {
    try fetchHistory(after: nil as PersistentHistoryToken?).filter { $0.timestamp > date }
  }

  // MARK: Deleting

  /// Deletes the history up to and including a token's transaction.
  ///
  /// Unless `force` is `true`, the deletion stops at the position of the slowest registered
  /// consumer. Tokens for positions within the deleted history expire, but `token` itself stays
  /// valid. If the container has several stores, the history of each store is deleted in a separate
  /// transaction.
  ///
  /// - Parameters:
  ///   - token: The last transaction to delete.
  ///   - force: Whether to delete transactions that registered consumers have not yet processed.
  ///     The tokens of these consumers then expire. Until the consumers register again, they do not
  ///     hold back further deletions.
  /// - Throws: `foreignStore` if the token belongs to another store; `historyExpired` if the store
  ///   was restored to a state from before the token; any error from writing the store.
  /// - Complexity: Deletes each entry in the deleted transactions, and syncs once.
  public func deleteHistory(before token: PersistentHistoryToken, force: Bool = false) throws {
    let attachedStores = group.attachedStores
    try requireOwn(token, attachedStores)
    for attached in attachedStores {
      guard let position = token.position(in: attached.model.space.store) else { continue }
      try attached.store.write { transaction in
        let (bounds, keyspace) = try history(transaction)
        try position.requireCommon(bounds, in: keyspace)
        try deleteHistory(upTo: position.sequence, force: force, transaction)
      }
    }
  }

  /// Deletes the transactions committed before a date, according to the clocks of the writing
  /// processes.
  ///
  /// The deletion stops at the first transaction that is not older than the date. Unless `force` is
  /// `true`, it also stops at the position of the slowest registered consumer.
  ///
  /// - Parameters:
  ///   - date: The date before which transactions are deleted.
  ///   - force: Whether to delete transactions that registered consumers have not yet processed;
  ///     see ``deleteHistory(before:force:)-(PersistentHistoryToken,_)``.
  /// - Throws: `corrupt`; any error from writing the store.
  /// - Complexity: Reads and deletes each entry in the deleted transactions, and syncs once.
  public func deleteHistory(before date: Date, force: Bool = false) throws {
    for attached in group.attachedStores {
      try attached.store.write { transaction in
        let last = try lastTransaction(before: date, transaction)
        try deleteHistory(upTo: last, force: force, transaction)
      }
    }
  }

  private func lastTransaction(
    before date: Date, _ transaction: WriteTransaction
  ) throws -> Int64 {
    let limit = date.timeIntervalSinceReferenceDate
    var last: Int64 = 0
    try transaction.keyspace(HistoryFormat.keyspace).forEach(from: Key(1 as Int64)) { key, value in
      let (sequence, chunk) = try Key.decode(key, as: Int64.self, Int64.self)
      if chunk == 0 {
        guard try HistoryHeader(value.copy).timestamp < limit else { return false }
        last = sequence
      }
      return true
    }
    return last
  }

  private func deleteHistory(
    upTo sequence: Int64, force: Bool, _ transaction: WriteTransaction
  ) throws {
    let keyspace = try transaction.keyspace(HistoryFormat.keyspace)
    guard
      var bounds = try keyspace.withValue(HistoryFormat.boundsKey, { try HistoryBounds($0) })
    else { return }
    var end = min(sequence, bounds.next - 1)
    if !force {
      // Ignore consumers whose next transactions are already deleted, because they must start over.
      let consumers = try HistoryConsumers.all(in: transaction).values
      end = consumers.filter { $0 >= bounds.deleted }.reduce(end, min)
    }
    guard end > bounds.deleted else { return }
    let time = try HistoryPosition(after: end, bounds, in: .transaction(keyspace)).time
    var keys: [Key] = []
    try keyspace.forEach(from: Key(bounds.deleted + 1), upTo: Key(end + 1)) { key, _ in
      let (sequence, chunk) = try Key.decode(key, as: Int64.self, Int64.self)
      keys.append(Key(sequence, chunk))
      return true
    }
    for key in keys { try keyspace.delete(key) }
    (bounds.deleted, bounds.deletedTime) = (end, time)
    try keyspace.put(HistoryFormat.boundsKey, bounds.encoded)
  }

  /// Throws `foreignStore` if the token covers none of the given stores.
  func requireOwn(
    _ token: PersistentHistoryToken, _ attachedStores: [StoreGroup.AttachedStore]
  ) throws {
    guard attachedStores.contains(where: { token.position(in: $0.model.space.store) != nil }) else {
      throw StorageError(
        .foreignStore,
        "The token comes from another store's history. Use a token from this container.")
    }
  }

  private func history(
    _ transaction: WriteTransaction
  ) throws -> (bounds: HistoryBounds, keyspace: RowsKeyspace) {
    let keyspace = RowsKeyspace.transaction(try transaction.keyspace(HistoryFormat.keyspace))
    let bounds = try keyspace.withValue(HistoryFormat.boundsKey) { try HistoryBounds($0) }
    return (bounds ?? HistoryBounds(), keyspace)
  }

  // MARK: Consumers

  /// Registers a history consumer, or updates the position of a registered consumer.
  ///
  /// Unless `force` is `true`, `deleteHistory` keeps the transactions that a registered consumer
  /// has not yet processed. The registration is saved in the store, and applies to all processes
  /// until ``removeHistoryConsumer(_:)`` is called.
  ///
  /// ```swift
  /// let token = try container.historyConsumers["search"]
  /// for transaction in try container.fetchHistory(after: token) {
  ///   try index(transaction)
  ///   try container.registerHistoryConsumer("search", at: transaction.token)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The consumer's name, which must be short enough for a key.
  ///   - token: The last transaction that the consumer has processed. In stores that the token does
  ///     not cover, or if there is no token, an existing consumer keeps its position, and a new
  ///     consumer starts at the oldest transaction.
  /// - Throws: `historyExpired` if the token's position, or a transaction after it, is no longer in
  ///   the history; `foreignStore`; any error from writing the store.
  /// - Complexity: Writes one row, unless the position is unchanged.
  public func registerHistoryConsumer(
    _ name: String, at token: PersistentHistoryToken? = nil
  ) throws {
    let attachedStores = group.attachedStores
    if let token { try requireOwn(token, attachedStores) }
    for attached in attachedStores {
      let position = token?.position(in: attached.model.space.store)
      try attached.store.write { try registerConsumer(name, at: position, $0) }
    }
  }

  /// Advances a consumer to a token's position in each store where the consumer is still behind
  /// that position.
  ///
  /// - Throws: The same errors as ``registerHistoryConsumer(_:at:)``.
  package func advanceHistoryConsumer(_ name: String, to token: PersistentHistoryToken) throws {
    let attachedStores = group.attachedStores
    try requireOwn(token, attachedStores)
    for attached in attachedStores {
      guard let position = token.position(in: attached.model.space.store) else { continue }
      try attached.store.write { transaction in
        let known = try HistoryConsumers.all(in: transaction)[name]
        guard known.map({ $0 < position.sequence }) ?? true else { return }
        try registerConsumer(name, at: position, transaction)
      }
    }
  }

  private func registerConsumer(
    _ name: String, at position: HistoryPosition?, _ transaction: WriteTransaction
  ) throws {
    let known = try HistoryConsumers.all(in: transaction)[name]
    let (bounds, keyspace) = try history(transaction)
    try position?.require(bounds, in: keyspace)
    let start = known == nil ? bounds.deleted : nil
    guard let sequence = position?.sequence ?? start, sequence != known else { return }
    try HistoryConsumers.put(sequence, for: name, transaction)
  }

  /// Removes a history consumer if it is registered.
  ///
  /// - Throws: Any error from writing the store.
  public func removeHistoryConsumer(_ name: String) throws {
    for attached in group.attachedStores {
      try attached.store.write { _ = try $0.keyspace(HistoryConsumers.keyspace).delete(name) }
    }
  }

  /// The registered consumers by name, each with the token of the last transaction that it has
  /// processed.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Reads three rows for each consumer.
  public var historyConsumers: [String: PersistentHistoryToken] {
    get throws {
      var positions: [String: [UUID: HistoryPosition]] = [:]
      for attached in group.attachedStores {
        let snapshot = try attached.store.snapshot()
        let reader = HistoryReader(snapshot, attached.model)
        for (name, sequence) in try HistoryConsumers.all(in: snapshot) {
          positions[name, default: [:]][attached.model.space.store] =
            try reader.position(after: sequence)
        }
      }
      return positions.compactMapValues { PersistentHistoryToken($0) }
    }
  }
}
