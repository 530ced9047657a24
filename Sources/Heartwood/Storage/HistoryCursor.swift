/// A cursor that returns the changes in a history one by one.
///
/// The cursor reads the changes in groups, so memory use does not depend on the length of the
/// history.
struct HistoryCursor {
  /// A change, together with its transaction.
  struct Change {
    let transaction: Transaction
    /// The index of the change within its transaction.
    let index: Int
    let number: ObjectNumber
    let change: HistoryFormat.Change
    /// A Boolean value that indicates whether this is the last change in its transaction.
    fileprivate(set) var isLast = false
  }

  /// A transaction in the history.
  ///
  /// All changes in the transaction share one instance.
  final class Transaction {
    let sequence: Int64
    let header: HistoryHeader
    fileprivate var changeCount = 0

    /// The position after the transaction.
    var position: HistoryPosition {
      HistoryPosition(sequence: sequence, time: header.date.milliseconds)
    }

    fileprivate init(_ sequence: Int64, _ header: HistoryHeader) {
      self.sequence = sequence
      self.header = header
    }
  }

  /// The number of the newest transaction.
  let newest: Int64
  /// The position after the last transaction that was read.
  ///
  /// If no transaction has been read yet, this is the position at which the cursor begins.
  var position: HistoryPosition { transaction?.position ?? start }
  private let start: HistoryPosition
  private let keyspace: KeyspaceReader?
  /// The changes that have been read but not yet returned, in reverse order.
  private var waiting: [Change] = []
  /// The most recently read change.
  ///
  /// The change is held back until the next entry shows whether it is the last change in its
  /// transaction.
  private var pending: Change?
  private var transaction: Transaction?
  /// The key of the next entry, or `nil` if all entries have been read.
  private var next: Key?

  /// The number of changes to read at a time.
  private static let changeCount = 1024

  /// Creates a cursor for the changes after a transaction.
  ///
  /// - Parameter known: The position after the transaction, or `nil` to begin with the oldest
  ///   transaction.
  /// - Throws: `historyExpired` if the position or a later transaction is no longer in the history,
  ///   or `corrupt` if the history cannot be decoded.
  init(_ snapshot: Snapshot, after known: HistoryPosition?) throws {
    keyspace = try snapshot.keyspace(HistoryFormat.keyspace)
    let rows = keyspace.map { RowsKeyspace.snapshot($0) }
    let bounds =
      try rows?.withValue(HistoryFormat.boundsKey) { try HistoryBounds($0) } ?? HistoryBounds()
    try known?.require(bounds, in: rows)
    newest = bounds.next - 1
    start =
      try known ?? rows.map { try HistoryPosition(after: bounds.deleted, bounds, in: $0) }
      ?? HistoryPosition(sequence: 0)
    if start.sequence < newest { next = Key(start.sequence + 1) }
  }

  /// Returns the next change, or `nil` if there are no more changes.
  ///
  /// - Throws: `corrupt` if the history cannot be decoded.
  mutating func nextChange() throws -> Change? {
    while waiting.isEmpty {
      guard let start = next else { return nil }
      try read(from: start)
    }
    return waiting.popLast()
  }

  private mutating func read(from start: Key) throws {
    next = nil
    var found: [Change] = []
    try keyspace?.forEach(from: start) { key, value in
      let (sequence, chunk) = try Key.decode(key, as: Int64.self, Int64.self)
      guard found.count < Self.changeCount else {
        next = Key(sequence, chunk)
        return false
      }
      if chunk == 0 {
        endTransaction(&found)
        transaction = Transaction(sequence, try HistoryHeader(value.copy))
      } else {
        guard let transaction, transaction.sequence == sequence else {
          throw StorageError(
            .corrupt,
            "The store is corrupt: the history contains changes without a transaction header. "
              + "Restore a backup.")
        }
        try HistoryFormat.forEachChange(value.copy) { number, change in
          if let pending { found.append(pending) }
          pending = Change(
            transaction: transaction, index: transaction.changeCount, number: number,
            change: change)
          transaction.changeCount += 1
        }
      }
      return true
    }
    if next == nil { endTransaction(&found) }
    waiting = found.reversed()
  }

  private mutating func endTransaction(_ found: inout [Change]) {
    guard var last = pending else { return }
    last.isLast = true
    found.append(last)
    pending = nil
  }
}
