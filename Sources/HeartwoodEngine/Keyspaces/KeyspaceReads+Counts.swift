extension KeyspaceReads {
  func estimatedCount(from lower: Key?, upTo upper: Key?, of count: Int) throws(StorageError) -> Int
  {
    // If there is no lower bound, use the empty key, which sorts before every key in the keyspace.
    let first = try position(of: lower ?? Key())
    guard let upper else {
      if let rest = first.countToEnd { return rest }
      return count - (try position(of: Key())).distance(to: first, of: count)
    }
    return first.distance(to: try position(of: upper), of: count)
  }

  private func position(of key: Key) throws(StorageError) -> KeyPosition {
    try withSearchBytes(key) { key throws(StorageError) in
      try KeyPosition(of: SearchKey(key), view, root)
    }
  }
}

extension KeyspaceReads {
  func count(from lower: Key?, upTo upper: Key?, limit: Int) throws(StorageError) -> Int {
    let cursor = TreeCursor(view: view, root: root)
    var count = 0
    func add(before end: SearchKey?) throws(StorageError) {
      var isValid = try Self.start(cursor, lower, upper, reversed: false)
      while isValid {
        let leaf = cursor.skipLeaf(before: end)
        count += leaf.count
        guard leaf.continues, count < limit else { return }
        isValid = try cursor.moveToNext()
      }
    }
    guard let upper else {
      try add(before: nil)
      return min(count, limit)
    }
    try withSearchBytes(upper) { key throws(StorageError) in try add(before: SearchKey(key)) }
    return min(count, limit)
  }
}

extension KeyspaceReader {
  /// Returns the number of entries in a range of keys, or `limit` if there are more.
  ///
  /// - Parameters:
  ///   - lower: The inclusive lower bound, or `nil` to start at the first key of the keyspace.
  ///   - upper: The exclusive upper bound, or `nil` to continue to the end of the keyspace.
  ///   - limit: The number of entries after which counting stops, or `nil` to count all entries. A
  ///     negative limit is treated as 0. To check whether the range contains any entry, pass 1.
  /// - Throws: `corrupt` if a page is corrupt, `io` if a page cannot be read, or `tooLarge` if a
  ///   bound exceeds the limit for keys.
  /// - Complexity: Reads each page of the range once, up to the page where the limit is reached,
  ///   without decoding keys or values.
  public func count(from lower: Key?, upTo upper: Key? = nil, limit: Int? = nil) throws -> Int {
    let limit = max(0, limit ?? .max)
    guard lower != nil || upper != nil else { return min(try count(), limit) }
    try snapshot.requireCurrent()
    return try reads.count(from: lower, upTo: upper, limit: limit)
  }

  /// Returns an estimate of the number of entries in a range of keys.
  ///
  /// Use the estimate to choose between strategies for reading the entries. The estimate is exact
  /// if both ends of the range are in the same leaf of the tree. Otherwise, the error depends on
  /// how evenly the nodes are filled, but is usually less than a third.
  ///
  /// - Parameters:
  ///   - lower: The inclusive lower bound, or `nil` to start at the first key of the keyspace.
  ///   - upper: The exclusive upper bound, or `nil` to continue to the end of the keyspace.
  /// - Throws: `corrupt` if a page on the path to a bound is corrupt, `io` if such a page cannot be
  ///   read, or `tooLarge` if a bound exceeds the limit for keys.
  /// - Complexity: Two page reads for each level of the tree.
  public func estimatedCount(from lower: Key? = nil, upTo upper: Key? = nil) throws -> Int {
    try reads.estimatedCount(from: lower, upTo: upper, of: try count())
  }
}
