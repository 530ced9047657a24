extension KeyspaceWriter {
  /// Calls `body` with the value of each integer key as this transaction sees it, in the order of
  /// the keys; `nil` for a key that is not there.
  ///
  /// Faster than as many reads of one value, for keys in any order: they are looked up in batches
  /// whose waits for memory overlap. Each span is valid during its call, and only until this
  /// transaction changes something. `body` may change the keyspace; later calls see it.
  ///
  /// - Throws: As ``KeyspaceReader/getMany(_:_:)-([Int64],_)``.
  /// - Complexity: For each key one page read for each level of the tree, which neighbours in the
  ///   order share where they can; after a change they are read again.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each integer key as this transaction sees it, in the order of
  /// the keys; `nil` for a key that is not there.
  ///
  /// Otherwise as ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each string key as this transaction sees it, in the order of
  /// the keys; `nil` for a key that is not there.
  ///
  /// Otherwise as ``getMany(_:_:)-([Int64],_)``.
  ///
  /// - Throws: `tooLarge` for a key over its limit too.
  public func getMany(
    _ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }
}
