extension KeyspaceReads {
  /// Returns an estimate of the number of the `count` entries in a range of keys.
  func estimatedCount(from lower: Key?, upTo upper: Key?, of count: Int) throws(StorageError) -> Int
  {
    // Keys are never empty, so this one sorts before all of them.
    let first = try position(of: lower ?? Key())
    guard let upper else { return count - (try position(of: Key())).distance(to: first, of: count) }
    return first.distance(to: try position(of: upper), of: count)
  }

  private func position(of key: Key) throws(StorageError) -> KeyPosition {
    try withSearchBytes(key) { key throws(StorageError) in
      try KeyPosition(of: SearchKey(key), view, root)
    }
  }
}

extension KeyspaceReader {
  /// Returns an estimate of the number of entries in a range of keys, to choose between ways of
  /// reading them.
  ///
  /// Within one leaf the count is exact. Over several leaves the error depends on how evenly the
  /// nodes are filled: mostly it is less than a third.
  ///
  /// - Parameters:
  ///   - lower: The first key of the range; `nil` starts at the first key.
  ///   - upper: The first key after it; `nil` extends to the end.
  /// - Throws: `corrupt` or `io` if a page on the way is corrupt or cannot be read; `tooLarge` for
  ///   a key over its limit.
  /// - Complexity: Two page reads for each level of the tree.
  public func estimatedCount(from lower: Key? = nil, upTo upper: Key? = nil) throws -> Int {
    try reads.estimatedCount(from: lower, upTo: upper, of: try count())
  }
}
