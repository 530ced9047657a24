extension KeyspaceReader {
  /// Calls `body` with the value of each integer key, in the order of the keys; `nil` for a missing
  /// key.
  ///
  /// Faster than the same number of single reads, for keys in any order: it looks the keys up in
  /// batches, so that their memory accesses overlap. The spans are as those of ``withValue(_:_:)``,
  /// each valid during its call only.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way is corrupt or cannot be read; `tooLarge` for
  ///   a value longer than ``Store`` copies at once; or any error of `body`. `body` may have been
  ///   called for earlier keys.
  /// - Complexity: For each key one page read for each level of the tree, which adjacent keys share
  ///   where they can.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each integer key, in the order of the keys; `nil` for a missing
  /// key.
  ///
  /// Otherwise as ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each string key, in the order of the keys; `nil` for a missing
  /// key.
  ///
  /// Otherwise as ``getMany(_:_:)-([Int64],_)``.
  ///
  /// - Throws: Also `tooLarge` for a key over its limit.
  public func getMany(
    _ keys: [String], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }
}
