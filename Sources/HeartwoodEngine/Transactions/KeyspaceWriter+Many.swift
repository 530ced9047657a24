extension KeyspaceWriter {
  /// Calls `body` with the value of each integer key in this transaction, in the order of `keys`,
  /// or with `nil` for a missing key.
  ///
  /// It is faster than the same number of single reads, for keys in any order, because it looks up
  /// the keys in batches whose memory accesses overlap. Each span is valid during the call of
  /// `body` that receives it, and only until this transaction changes something. `body` may change
  /// the keyspace; later calls see the changes.
  ///
  /// - Throws: The same errors as ``KeyspaceReader/getMany(_:_:)-([Int64],_)``.
  /// - Complexity: For each key, one page read for each level of the tree; adjacent keys share
  ///   these reads where they can. After a change, the pages are read again.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each integer key in this transaction, in the order of `keys`,
  /// or with `nil` for a missing key.
  ///
  /// It works like ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each string key in this transaction, in the order of `keys`, or
  /// with `nil` for a missing key.
  ///
  /// It works like ``getMany(_:_:)-([Int64],_)``.
  ///
  /// - Throws: In addition, `tooLarge` if a key exceeds its limit.
  public func getMany(
    _ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }
}
