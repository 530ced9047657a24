extension KeyspaceReader {
  /// Calls `body` with the value of each integer key, in the order of the keys; `nil` for a key
  /// that is not there.
  ///
  /// Faster than as many reads of one value, for keys in any order: they are looked up in batches
  /// whose waits for memory overlap. The spans are as those of ``withValue(_:_:)``, each
  /// valid during its call only.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   value longer than ``Store`` copies at once; or what `body` throws. It may have been called
  ///   for keys before.
  /// - Complexity: For each key one page read for each level of the tree, which neighbours in the
  ///   order share where they can.
  public func getMany(
    _ keys: [Int64], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each integer key, in the order of the keys; `nil` for a key
  /// that is not there.
  ///
  /// Otherwise as ``getMany(_:_:)-([Int64],_)``.
  public func getMany(
    _ keys: [Int], _ body: (_ index: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try reads.getMany(keys, body)
  }

  /// Calls `body` with the value of each string key, in the order of the keys; `nil` for a key that
  /// is not there.
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
