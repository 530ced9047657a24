import Foundation

/// Puts the histories of several stores in one order, and has each token name a place in all.
struct HistoryMerge {
  private let token: PersistentHistoryToken?
  /// The place that has been come to in each store.
  private var places: [UUID: Int64]
  private var runs: [ArraySlice<PersistentHistoryTransaction>] = []

  /// Begins with the places that a token names; `nil` for the beginning of all.
  init(after token: PersistentHistoryToken?) {
    self.token = token
    places = token?.sequences ?? [:]
  }

  /// Takes up what follows in the history of a store.
  ///
  /// - Throws: `historyExpired`; `corrupt`.
  mutating func add(_ reader: HistoryReader, of model: StoreModel) throws {
    let store = model.space.store
    let own = token?.sequence(of: store).map { PersistentHistoryToken(store: store, sequence: $0) }
    if own == nil { places[store] = try reader.start() }
    runs.append(try reader.transactions(after: own)[...])
  }

  /// The transactions, those of one store as they were written, and the earliest of the next first.
  mutating func transactions() -> [PersistentHistoryTransaction] {
    // Their tokens are right already.
    if places.count == 1, let only = runs.first { return Array(only) }
    var result: [PersistentHistoryTransaction] = []
    while let next = runs.indices.filter({ !runs[$0].isEmpty }).min(by: { isBefore($0, $1) }),
      var transaction = runs[next].popFirst()
    {
      places[transaction.store] = transaction.sequence
      transaction.token = PersistentHistoryToken(places) ?? transaction.token
      result.append(transaction)
    }
    return result
  }

  private func isBefore(_ first: Int, _ second: Int) -> Bool {
    guard let one = runs[first].first, let other = runs[second].first else { return false }
    return one.timestamp < other.timestamp
  }
}
