extension KeyspaceWriter {
  /// Sets the value of a key to `byteCount` bytes that `body` writes in chunks.
  ///
  /// Even a long value requires little memory. `body` may read from the transaction, append the
  /// bytes that it reads, and change other entries. Until `body` returns, the key keeps its
  /// previous value.
  ///
  /// - Precondition: `body` appends no bytes within a savepoint that `body` itself begins.
  /// - Throws: `tooLarge` if the key or the value exceeds its limit; in that case, `body` is not
  ///   called. Throws `invalidArgument` if `body` writes more or fewer bytes than `byteCount`, or
  ///   any error that `body` throws. After these errors, the entry is unchanged, and the
  ///   transaction can continue.
  /// - Complexity: Reads one page for each level of the tree. Writes each page of the value once,
  ///   during or before the commit.
  @inlinable
  public func put<K: LookupKey & ~Escapable>(
    _ key: K, byteCount: Int, _ body: (inout ValueWriter) throws -> Void
  ) throws {
    try key.encoded { key throws(StorageError) in try stream(key, byteCount, body) }.get()
  }

  /// Sets the value of a key to the bytes that `body` writes.
  ///
  /// The method itself throws only storage errors. If `body` throws an error, the method returns
  /// that error as a failure.
  @usableFromInline
  func stream(
    _ key: borrowing EncodedKey, _ byteCount: Int, _ body: (inout ValueWriter) throws -> Void
  ) throws(StorageError) -> Result<Void, any Error> {
    requireOpen()
    guard byteCount >= 0 else {
      throw StorageError(
        .invalidArgument,
        "The byte count of a value is negative (\(byteCount)). Pass the length of the value in "
          + "bytes.")
    }
    try Limits.requireValue(byteCount: byteCount)
    var value = try ValueWriter(
      session: session, keyspace: keyspace, key: key.bytes, byteCount: byteCount)
    do { try body(&value) } catch {
      try value.discard()
      return .failure(error)
    }
    requireOpen()
    try value.finish(under: key.bytes, in: self)
    return .success(())
  }
}
