import Foundation

extension HistoryPosition {
  /// Creates the position after a transaction in the history.
  init(after sequence: Int64, _ bounds: HistoryBounds, in keyspace: RowsKeyspace) throws {
    self.sequence = sequence
    // The time is unknown for transactions older than the last deleted one.
    guard sequence >= bounds.deleted else {
      time = nil
      return
    }
    time =
      sequence == bounds.deleted
      ? bounds.deletedTime
      : try keyspace.withValue(Key(sequence, 0 as Int64)) {
        try HistoryHeader($0.copy).date.milliseconds
      }
  }

  /// Checks that the history contains this position and all later transactions.
  ///
  /// - Throws: `historyExpired` if the position or any later transaction is missing.
  /// - Complexity: Reads one row.
  func require(_ bounds: HistoryBounds, in keyspace: RowsKeyspace?) throws {
    guard sequence >= bounds.deleted else {
      throw ObjectGraphError(
        .historyExpired,
        "Some transactions that follow the token have been deleted from the history. Fetch "
          + "everything again, and continue from the newest token.")
    }
    try requireCommon(bounds, in: keyspace)
  }

  /// Checks that this position belongs to the store's history, and not to a history that has
  /// diverged from it.
  ///
  /// - Throws: `historyExpired` if the position belongs to another history.
  /// - Complexity: Reads one row.
  func requireCommon(_ bounds: HistoryBounds, in keyspace: RowsKeyspace?) throws {
    guard sequence >= bounds.deleted else { return }
    var isKnown = sequence < bounds.next
    if isKnown, let time, let keyspace,
      let known = try HistoryPosition(after: sequence, bounds, in: keyspace).time
    {
      isKnown = time == known
    }
    guard isKnown else {
      throw ObjectGraphError(
        .historyExpired,
        "The history ends with transaction \(bounds.next - 1) and does not contain the token's "
          + "transaction \(sequence). The store was restored to an earlier state, or is a replica "
          + "that has not received the transaction yet. Fetch everything again, and continue from "
          + "the newest token.")
    }
  }
}

extension HistoryHeader {
  /// The time of the transaction, rounded down to milliseconds.
  ///
  /// The times of generations are rounded down in the same way. Otherwise, a snapshot could appear
  /// to be older than its contents.
  var date: Date { Date(timeIntervalSinceReferenceDate: (timestamp * 1000).rounded(.down) / 1000) }
}

extension Date {
  /// The number of milliseconds since 1970, clamped to the range from 0 to 10^15.
  var milliseconds: Int64 {
    let count = (timeIntervalSince1970 * 1000).rounded()
    // Use `Double.maximum`, because it replaces NaN with 0. Converting NaN to `Int64` would trap.
    return Int64(Double.minimum(Double.maximum(count, 0), 1e15))
  }
}
