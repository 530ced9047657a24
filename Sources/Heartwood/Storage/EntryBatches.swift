extension RowsKeyspace {
  /// The maximum number of entries in a batch, and the maximum total size of their values in bytes.
  private static let batchLimits = (count: 1000, byteCount: 1 << 20)

  /// Iterates over entries in batches, so that `body` can modify entries between batches.
  ///
  /// Entries must not be modified while they are being read, because writes move data within pages.
  ///
  /// - Parameters:
  ///   - lower: The key at which the iteration starts.
  ///   - collect: A closure that receives the key and the value of an entry, and appends to the
  ///     batch the data that `body` needs. The closure returns `false` to stop the iteration.
  ///   - body: A closure that is called with each batch, even an empty one. The closure may modify
  ///     the entries of the batch and all entries before them.
  func forEachBatch<Element>(
    from lower: Key, collect: (RawSpan, RawSpan, inout [Element]) throws -> Bool,
    _ body: ([Element]) throws -> Void
  ) throws {
    var next: Key? = lower
    while let first = next {
      var batch: [Element] = []
      var byteCount = 0
      next = nil
      try forEach(from: first) { key, value in
        guard batch.count < Self.batchLimits.count, byteCount < Self.batchLimits.byteCount else {
          next = try Key(encoded: key.copy)
          return false
        }
        let count = batch.count
        let shouldContinue = try collect(key, value, &batch)
        if batch.count > count { byteCount += value.byteCount }
        return shouldContinue
      }
      try body(batch)
    }
  }

  /// Iterates over the rows of an entity in batches.
  ///
  /// The batches and `body` work as in ``forEachBatch(from:collect:_:)``.
  ///
  /// - Parameter collect: A closure that returns the data that `body` needs from a row, or `nil` to
  ///   skip the row.
  func forEachRow<Element>(
    of storage: EntityStorage, collect: (ObjectNumber, RecordView) throws -> Element?,
    _ body: ([(number: ObjectNumber, element: Element)]) throws -> Void
  ) throws {
    try forEachBatch(from: Key(0)) { key, value, batch in
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyComponent())
      try value.withRecord(storage.layouts) { record in
        if let element = try collect(number, record) { batch.append((number, element)) }
      }
      return true
    } _: {
      try body($0)
    }
  }
}
