extension KeyspaceReader {
  /// Calls `body` with the value of each integer key, in the order of `keys`.
  ///
  /// The value of a missing key is `nil`.
  ///
  /// This is faster than the same number of single reads, for keys in any order, because it looks
  /// up keys in batches, so that their memory accesses overlap. Each span is valid only during its
  /// call, as in ``withValue(_:_:)``.
  ///
  /// - Throws: `corrupt` or `io` if a page on the path to a value is corrupt or cannot be read;
  ///   `tooLarge` if a value is longer than ``Store`` copies at once; any error that `body` throws.
  ///   `body` may already have been called for earlier keys.
  /// - Complexity: For each key, one page read for each level of the tree. Adjacent keys share
  ///   these reads where possible.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each integer key, in the order of `keys`.
  ///
  /// The value of a missing key is `nil`.
  ///
  /// For details, see ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each string key, in the order of `keys`.
  ///
  /// The value of a missing key is `nil`.
  ///
  /// For details, see ``getMany(_:_:)-([Int64],_)``.
  ///
  /// - Throws: Also `tooLarge` if a key exceeds its limit.
  public func getMany(
    _ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }
}
