extension RowsKeyspace {
  /// How many entries, and bytes of their values, are taken up at a time.
  private static let batchLimits = (count: 1000, byteCount: 1 << 20)

  /// Goes through entries some at a time, so that they can be written in between: what lies in the
  /// pages moves as that is done.
  ///
  /// - Parameters:
  ///   - lower: The key to begin at.
  ///   - take: Puts what it wants of an entry into the batch; false ends it all.
  ///   - body: Called with each batch, empty ones too; it may change the entries of the batch and
  ///     those before.
  func forEachBatch<Element>(
    from lower: Key, take: (RawSpan, RawSpan, inout [Element]) throws -> Bool,
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
        let goesOn = try take(key, value, &batch)
        if batch.count > count { byteCount += value.byteCount }
        return goesOn
      }
      try body(batch)
    }
  }

  /// Goes through the rows of an entity some at a time, as ``forEachBatch(from:take:_:)`` does.
  ///
  /// - Parameter take: What is wanted of a row; `nil` if nothing is.
  func forEachRow<Element>(
    of storage: EntityStorage, take: (ObjectNumber, RecordView) throws -> Element?,
    _ body: ([(number: ObjectNumber, element: Element)]) throws -> Void
  ) throws {
    try forEachBatch(from: Key(0)) { key, value, batch in
      let number = ObjectNumber(entity: storage.number, row: try key.lastKeyPart())
      try value.withRecord(storage.layouts) { record in
        if let element = try take(number, record) { batch.append((number, element)) }
      }
      return true
    } _: {
      try body($0)
    }
  }
}
