extension KeyspaceWriter {
  /// Returns an estimate of the number of entries in a range of keys.
  ///
  /// This method works like ``KeyspaceReader/estimatedCount(from:upTo:)``.
  public func estimatedCount(from lower: Key? = nil, upTo upper: Key? = nil) throws -> Int {
    try reads.estimatedCount(from: lower, upTo: upper, of: try count())
  }
}
