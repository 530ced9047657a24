extension KeyspaceWriter {
  /// Calls `body` for every entry in a range of keys, in key order, until `body` returns `false`.
  ///
  /// This method works like ``forEach(from:upTo:reversed:_:)``.
  public func forEach(
    in range: KeyRange, reversed: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    try forEach(from: range.lower, upTo: range.upper, reversed: reversed, body)
  }

  /// Removes all entries in a range of keys, and returns the number of removed entries.
  ///
  /// ```swift
  /// try events.delete(in: KeyRange(upTo: Key(oldestDay)))
  /// ```
  ///
  /// This method is much faster than deleting the keys one by one. If a page is completely within
  /// the range, the method frees the page without visiting its keys.
  ///
  /// - Throws: `corrupt` if a page of the range is corrupt, or `io` if a page cannot be read. The
  ///   transaction can then only be rolled back.
  /// - Complexity: Each page of the range is read once. At each end of the range, the commit writes
  ///   one page for each level of the tree.
  @discardableResult
  public func delete(in range: KeyRange) throws -> Int {
    requireOpen()
    if let lower = range.lower, let upper = range.upper, !(lower < upper) { return 0 }
    return try withBound(range.lower) { lower throws(StorageError) in
      try withBound(range.upper) { upper throws(StorageError) in
        try delete(from: lower, upTo: upper)
      }
    }
  }

  private func delete(from lower: Bytes?, upTo upper: Bytes?) throws(StorageError) -> Int {
    try session.changing { () throws(StorageError) in
      let count = try keyspace.writer.delete(
        from: lower.map { SearchKey($0) }, upTo: upper.map { SearchKey($0) })
      if count > 0 { try keyspace.noteDeleted(count) }
      return Int(clamping: count)
    }
  }
}

private func withBound<R>(
  _ key: Key?, _ body: (Bytes?) throws(StorageError) -> R
) throws(StorageError) -> R {
  guard let key else { return try body(nil) }
  return try withSearchBytes(key) { key throws(StorageError) in try body(key) }
}
