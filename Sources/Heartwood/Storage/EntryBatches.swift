extension RowsKeyspace {
  /// The limits of a batch: the number of entries and the bytes of their values.
  private static let batchLimits = (count: 1000, byteCount: 1 << 20)

  /// Iterates over entries in batches, so that the entries can be modified in between: writes move
  /// data within the pages, which an iteration must not span.
  ///
  /// - Parameters:
  ///   - lower: The first key.
  ///   - collect: Adds the wanted parts of an entry to the batch; returns `false` to stop.
  ///   - body: Called with each batch, including empty ones; it may change the entries of the batch
  ///     and those before it.
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

  /// Iterates over the rows of an entity in batches, as ``forEachBatch(from:collect:_:)`` does.
  ///
  /// - Parameter collect: Returns the wanted parts of a row; `nil` to skip it.
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
