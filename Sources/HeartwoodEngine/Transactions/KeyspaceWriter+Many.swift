extension KeyspaceWriter {
  /// Looks up several integer keys in this transaction.
  ///
  /// The method calls `body` once for each key, in the order of `keys`. The arguments of `body` are
  /// the key's index in `keys` and the key's value. If the key does not exist, the value is `nil`.
  ///
  /// This method is faster than separate reads, regardless of the order of the keys. Each span is
  /// valid only until the call to `body` that receives it returns, or until this transaction makes
  /// a change, whichever comes first. `body` may change the keyspace but not remove it, and later
  /// calls to `body` see the changes.
  ///
  /// - Throws: The same errors as ``KeyspaceReader/getMany(_:_:)-([Int64],_)``.
  /// - Complexity: One page read for each key and each level of the tree. Adjacent keys share page
  ///   reads where possible. After a change, the method reads the pages again.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, in: keyspace, body)
  }

  /// Looks up several integer keys in this transaction.
  ///
  /// This method works like ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, in: keyspace, body)
  }

  /// Looks up several string keys in this transaction.
  ///
  /// This method works like ``getMany(_:_:)-([Int64],_)``.
  ///
  /// - Throws: `tooLarge` if a key exceeds its limit, or any error that
  ///   ``getMany(_:_:)-([Int64],_)`` throws.
  public func getMany(
    _ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, in: keyspace, body)
  }
}
