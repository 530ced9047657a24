import Foundation

/// A merge of the histories of several stores into one sequence of transactions.
///
/// The token of each merged transaction covers all stores.
struct HistoryMerge {
  /// The position reached by the merge in each store's history.
  private var positions: [UUID: HistoryPosition]
  private var runs: [ArraySlice<PersistentHistoryTransaction>] = []

  /// Creates a merge that starts after a token, or at the start of every history if `token` is
  /// `nil`.
  init(after token: PersistentHistoryToken?) {
    positions = token?.positions ?? [:]
  }

  /// Adds the transactions that follow the token's position in a store's history.
  ///
  /// If the token does not cover the store, all transactions of the store are added.
  ///
  /// - Throws: `historyExpired` if the token's position or any of these transactions is no longer
  ///   in the history, or `corrupt` if the history cannot be decoded.
  mutating func add(_ reader: HistoryReader, of model: StoreModel) throws {
    let store = model.space.store
    let own = positions[store]
    if own == nil { positions[store] = try reader.oldestPosition() }
    runs.append(try reader.transactions(after: own)[...])
  }

  /// Returns the merged transactions.
  ///
  /// Transactions from different stores are ordered by timestamp, and transactions from the same
  /// store are in commit order.
  mutating func transactions() -> [PersistentHistoryTransaction] {
    // Return the transactions of a single store unchanged, because their tokens are already
    // correct.
    if positions.count == 1, let only = runs.first { return Array(only) }
    var result: [PersistentHistoryTransaction] = []
    while let next = oldestRun, var transaction = runs[next].popFirst() {
      positions[transaction.store] = transaction.position
      if let token = PersistentHistoryToken(positions) { transaction.token = token }
      result.append(transaction)
    }
    return result
  }

  /// The index of the run that begins with the oldest transaction, or `nil` if all runs are empty.
  private var oldestRun: Int? {
    let times = runs.indices.compactMap { index in
      runs[index].first.map { (index: index, time: $0.timestamp) }
    }
    return times.min { $0.time < $1.time }?.index
  }
}
