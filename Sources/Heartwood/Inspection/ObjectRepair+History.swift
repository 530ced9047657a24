extension ObjectRepair {
  /// Removes the history up to and including the last transaction that may be incomplete.
  ///
  /// A consumer that has not read these transactions must fetch everything again, as after any
  /// deletion from the history.
  func repairHistory(_ report: SalvageReport) throws {
    guard let salvaged = report.keyspaces.first(where: { $0.name == HistoryFormat.keyspace }),
      !salvaged.isComplete
    else { return }
    try store.write { transaction in
      let history = try transaction.keyspace(HistoryFormat.keyspace)
      let known = try history.withValue(HistoryFormat.boundsKey) { try? HistoryBounds($0) } ?? nil
      var newest: Int64 = 0
      try history.forEach(reversed: true) { key, _ in
        newest = min(max(key.integerPair?.first ?? 0, 0), .max - 1)
        return false
      }
      var bounds = HistoryBounds()
      bounds.next = max(known?.next ?? 0, newest + 1)
      let gone = known == nil ? newest : Self.lastIncomplete(salvaged, bounds.next)
      bounds.deleted = max(known?.deleted ?? 0, min(gone, bounds.next - 1))
      guard known == nil || bounds.deleted > known?.deleted ?? 0 else { return }
      try Self.remove(upTo: bounds.deleted, from: history)
      try history.put(HistoryFormat.boundsKey, bounds.encoded)
      notes.append(
        "The history up to transaction \(bounds.deleted) is incomplete and was removed. Consumers "
          + "that have not read these transactions must fetch everything again.")
    }
  }

  /// Returns the number of the last transaction that may be incomplete.
  private static func lastIncomplete(
    _ salvaged: SalvageReport.Keyspace, _ next: Int64
  ) -> Int64 {
    var last: Int64 = 0
    for range in salvaged.missing {
      // If the range has no upper end, even the newest transaction may be incomplete.
      guard let before = range.before,
        let (transaction, chunk) = before.span.bytes.integerPair
      else { return next - 1 }
      // Chunk 0 is a transaction's first entry, so a range that ends before chunk 0 contains no
      // part of that transaction.
      last = max(last, chunk == 0 ? max(transaction, 1) - 1 : transaction)
    }
    for key in salvaged.damagedValues {
      last = max(last, key.span.bytes.integerPair?.first ?? next - 1)
    }
    let isListed =
      salvaged.missing.count == salvaged.missingRangeCount
      && salvaged.damagedValues.count == salvaged.damagedValueCount
      && salvaged.doubtfulCount == 0 && salvaged.misplacedCount == 0
    return isListed ? last : next - 1
  }

  private static func remove(upTo last: Int64, from history: KeyspaceWriter) throws {
    try RowsKeyspace.transaction(history).forEachBatch(from: firstKey) { key, _, batch in
      let sequence = key.integerPair?.first ?? 0
      guard sequence <= last else { return false }
      batch.append(Key(unverified: key.copy))
      return true
    } _: { (keys: [Key]) in
      for key in keys { try history.delete(key) }
    }
  }
}
