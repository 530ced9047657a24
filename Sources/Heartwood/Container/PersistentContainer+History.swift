public import Foundation

extension PersistentContainer {
  /// What was changed after a token, one entry for each save and batch request of any process.
  ///
  /// What is in one store comes in the order it was written, and that of several by time. The
  /// history of a store that the token is not of comes from its beginning.
  ///
  /// - Parameter token: Where to go on; `nil` for everything there is.
  /// - Throws: `historyExpired` if some of it was deleted; `foreignStore` for a token of other
  ///   stores; `corrupt` or `io`.
  /// - Complexity: Each page of the entries is read once.
  public func fetchHistory(
    after token: PersistentHistoryToken?
  ) throws -> [PersistentHistoryTransaction] {
    let members = group.members
    if let token { try requireOwn(token, members) }
    var merge = HistoryMerge(after: token)
    for member in members {
      try merge.add(HistoryReader(try member.store.snapshot(), member.model), of: member.model)
    }
    return merge.transactions()
  }

  /// The newest place in the history: what follows it is not there yet.
  ///
  /// `nil` if nothing was ever written into it.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: One row read for each store.
  public var currentHistoryToken: PersistentHistoryToken? {
    get throws {
      var places: [UUID: Int64] = [:]
      for member in group.members {
        let token = try HistoryReader(try member.store.snapshot(), member.model).newestToken()
        places[member.model.space.store] = token?.sequence(of: member.model.space.store)
      }
      return PersistentHistoryToken(places)
    }
  }

  /// What was changed after a date, by the clocks of those who changed it.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: Each page of the history is read once.
  public func fetchHistory(after date: Date) throws -> [PersistentHistoryTransaction] {
    try fetchHistory(after: nil as PersistentHistoryToken?).filter { $0.timestamp > date }
  }

  // MARK: Deleting

  /// Deletes the history up to a token, but not what follows it.
  ///
  /// It goes no farther than the slowest registered consumer has come. A token before what was
  /// deleted expires; the one given does not.
  ///
  /// Of several stores, each has a transaction of its own for it.
  ///
  /// - Parameters:
  ///   - token: The last transaction to delete.
  ///   - force: Whether to delete what consumers have not read yet. Their tokens expire; until they
  ///     register again, they hold back nothing more.
  /// - Throws: `foreignStore` for a token of another store; what kept the store from being written.
  /// - Complexity: One row deleted for each entry; one sync.
  public func deleteHistory(before token: PersistentHistoryToken, force: Bool = false) throws {
    let members = group.members
    try requireOwn(token, members)
    for member in members {
      guard let sequence = token.sequence(of: member.model.space.store) else { continue }
      try member.store.write { try deleteHistory(upTo: sequence, force: force, $0) }
    }
  }

  /// Deletes the history that is older than a date, by the clocks of those who wrote it.
  ///
  /// It ends before the first transaction that is not, and goes no farther than the slowest
  /// registered consumer has come.
  ///
  /// - Parameters:
  ///   - date: What is older is deleted.
  ///   - force: As in ``deleteHistory(before:force:)-(PersistentHistoryToken,_)``.
  /// - Throws: `corrupt`; what kept the store from being written.
  /// - Complexity: What is deleted is read; one row deleted for each entry; one sync.
  public func deleteHistory(before date: Date, force: Bool = false) throws {
    for member in group.members {
      try member.store.write { transaction in
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
      let (sequence, piece) = try Key.decode(key, as: Int64.self, Int64.self)
      if piece == 0 {
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
      // Who was passed already has to begin anew anyway.
      let consumers = try HistoryConsumers.all(in: transaction).values
      end = consumers.filter { $0 >= bounds.deleted }.reduce(end, min)
    }
    guard end > bounds.deleted else { return }
    var keys: [Key] = []
    try keyspace.forEach(from: Key(bounds.deleted + 1), upTo: Key(end + 1)) { key, _ in
      let (sequence, piece) = try Key.decode(key, as: Int64.self, Int64.self)
      keys.append(Key(sequence, piece))
      return true
    }
    for key in keys { try keyspace.delete(key) }
    bounds.deleted = end
    try keyspace.put(HistoryFormat.boundsKey, bounds.encoded)
  }

  private func requireOwn(
    _ token: PersistentHistoryToken, _ members: [StoreGroup.Member]
  ) throws {
    guard members.contains(where: { token.sequence(of: $0.model.space.store) != nil }) else {
      throw StorageError(.foreignStore, "The token is of the history of another store.")
    }
  }

  // MARK: Consumers

  /// Registers somebody who reads the history, so that what he has not read is not deleted; or
  /// takes down how far he has come.
  ///
  /// The store remembers it, for all processes, until ``removeHistoryConsumer(_:)``.
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
  ///   - name: The consumer, by any name that fits a key.
  ///   - token: The last transaction he has read. Without one, and in stores that it is not of, who
  ///     is registered stays where he is, and who is not begins with what is left of the history.
  /// - Throws: `historyExpired` if what follows the token was deleted; `foreignStore`; what kept
  ///   the store from being written.
  /// - Complexity: One row written, unless that is what it holds.
  public func registerHistoryConsumer(
    _ name: String, at token: PersistentHistoryToken? = nil
  ) throws {
    let members = group.members
    if let token { try requireOwn(token, members) }
    for member in members {
      let sequence = token?.sequence(of: member.model.space.store)
      try member.store.write { try registerConsumer(name, at: sequence, $0) }
    }
  }

  private func registerConsumer(
    _ name: String, at place: Int64?, _ transaction: WriteTransaction
  ) throws {
    let deleted = try transaction.keyspace(HistoryFormat.keyspace)
      .withValue(HistoryFormat.boundsKey) { try HistoryBounds($0).deleted }
    let known = try HistoryConsumers.all(in: transaction)[name]
    guard let sequence = place ?? (known == nil ? deleted ?? 0 : nil) else { return }
    guard sequence >= deleted ?? 0 else {
      throw ObjectGraphError(
        .historyExpired,
        "What followed the token was deleted from the history. Fetch everything again, and "
          + "register \(name) at the newest token.")
    }
    guard sequence != known else { return }
    try HistoryConsumers.put(sequence, for: name, transaction)
  }

  /// Forgets somebody who reads the history; nothing happens if he is not registered.
  ///
  /// - Throws: What kept the store from being written.
  public func removeHistoryConsumer(_ name: String) throws {
    for member in group.members {
      try member.store.write { _ = try $0.keyspace(HistoryConsumers.keyspace).delete(name) }
    }
  }

  /// Those who read the history, with the last transaction that each has read.
  ///
  /// - Throws: `corrupt` or `io`.
  /// - Complexity: One row read for each.
  public var historyConsumers: [String: PersistentHistoryToken] {
    get throws {
      var places: [String: [UUID: Int64]] = [:]
      for member in group.members {
        for (name, sequence) in try HistoryConsumers.all(in: try member.store.snapshot()) {
          places[name, default: [:]][member.model.space.store] = sequence
        }
      }
      return places.compactMapValues { PersistentHistoryToken($0) }
    }
  }
}
