extension KeyspaceReader {
  /// Calls `body` with the index and the value of each integer key, in the order of `keys`.
  ///
  /// If a key does not exist, its value is `nil`. This method is faster than separate reads,
  /// regardless of the order of the keys, because it looks up the keys in batches and overlaps
  /// their memory accesses. Each span is valid only during the call to `body` that receives it, as
  /// in ``withValue(_:_:)``.
  ///
  /// - Throws: `corrupt` if a page on the path to a value is corrupt, `io` if such a page cannot be
  ///   read, `tooLarge` if a value is too long to be copied, or any error that `body` throws. When
  ///   the method throws, it may already have called `body` for earlier keys.
  /// - Complexity: One page read for each key and each level of the tree. Adjacent keys share page
  ///   reads where possible.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, in: nil, body)
  }

  /// Calls `body` with the index and the value of each integer key, in the order of `keys`.
  ///
  /// For details, see ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, in: nil, body)
  }

  /// Calls `body` with the index and the value of each string key, in the order of `keys`.
  ///
  /// For details, see ``getMany(_:_:)-([Int64],_)``.
  ///
  /// - Throws: `tooLarge` if a key exceeds its limit, or any error that
  ///   ``getMany(_:_:)-([Int64],_)`` throws.
  public func getMany(
    _ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, in: nil, body)
  }
}
