extension KeyspaceWriter {
  /// Sets the value of a key to `byteCount` bytes that `body` gives piece by piece.
  ///
  /// A value of any length takes little memory. `body` may read from the transaction, append what
  /// it reads, and change other entries; until it has returned, the key has the value it had
  /// before.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before `body` is called;
  ///   `invalidArgument` if `body` gives more or fewer bytes; or what `body` throws. Then the entry
  ///   stays as it was, and the transaction can go on.
  /// - Complexity: One page read for each level of the tree; one page written for each page of the
  ///   value, in the commit or before.
  public func put(
    _ key: Key, byteCount: Int, _ body: (inout ValueWriter) throws -> Void
  ) throws {
    try withSearchBytes(key) { key throws(StorageError) in
      try put(key, byteCount: byteCount, body)
    }.get()
  }

  /// Sets the value of a key of one part to `byteCount` bytes that `body` gives piece by piece.
  ///
  /// Otherwise as ``put(_:byteCount:_:)-(Key,_,_)``.
  public func put(
    _ key: some KeyConvertible, byteCount: Int, _ body: (inout ValueWriter) throws -> Void
  ) throws {
    try put(Key(key), byteCount: byteCount, body)
  }

  /// What `body` throws comes back as a failure, so that the path to it stays typed.
  private func put(
    _ key: Bytes, byteCount: Int, _ body: (inout ValueWriter) throws -> Void
  ) throws(StorageError) -> Result<Void, any Error> {
    requireOpen()
    guard byteCount >= 0 else {
      throw StorageError(.invalidArgument, "A value cannot have \(byteCount) bytes.")
    }
    guard byteCount <= Limits.maxValueByteCount else {
      throw StorageError(
        .tooLarge,
        "The value has \(byteCount) bytes; the limit is \(Limits.maxValueByteCount).")
    }
    var value = try ValueWriter(
      session: session, keyspace: keyspace, key: key, byteCount: byteCount)
    do { try body(&value) } catch {
      try value.discard()
      return .failure(error)
    }
    requireOpen()
    try value.finish(under: key, in: self)
    return .success(())
  }
}
