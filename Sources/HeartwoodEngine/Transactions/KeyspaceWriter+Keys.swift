// These methods correspond to the methods of ``KeyspaceReader``. They evaluate `reads` only after
// encoding the key, because encoding a custom key runs the caller's code, which may change the
// transaction.

extension KeyspaceWriter {
  /// Returns a copy of a key's value in this transaction, or `nil` if the key does not exist.
  ///
  /// - Throws: The same errors as ``KeyspaceReader/get(_:)``.
  @inlinable
  public func get<K: LookupKey & ~Escapable>(_ key: K) throws -> [UInt8]? {
    try key.encoded { key throws(StorageError) in try reads.get(key) }
  }

  /// Calls `body` with the value of a key, and returns the result of `body`.
  ///
  /// The method returns `nil` if the key does not exist. The span becomes invalid when `body`
  /// returns or this transaction makes a change.
  @inlinable
  public func withValue<K: LookupKey & ~Escapable, R>(
    _ key: K, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    try key.encoded { key throws(StorageError) in try reads.locate(key) }?.use(body)
  }

  /// Passes the given range of a key's value to `body`, in consecutive chunks.
  ///
  /// The method returns `false` if the key does not exist.
  ///
  /// - Throws: The same errors as ``KeyspaceReader/read(_:range:_:)``.
  @inlinable @discardableResult
  public func read<K: LookupKey & ~Escapable>(
    _ key: K, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try key.encoded { key throws(StorageError) in try reads.read(key, range, body) }.get()
  }

  /// Returns the length in bytes of a key's value in this transaction, or `nil` if the key does not
  /// exist.
  ///
  /// - Throws: The same errors as ``KeyspaceReader/valueByteCount(_:)``.
  @inlinable
  public func valueByteCount<K: LookupKey & ~Escapable>(_ key: K) throws -> Int? {
    try key.encoded { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the complete value of a key to `body`, in consecutive chunks.
  ///
  /// The method returns `false` if the key does not exist.
  ///
  /// This method works like ``KeyspaceReader/forEachChunk(_:_:)``, but each chunk is valid only
  /// until this transaction makes a change. `body` may change the keyspace, but not this value.
  @inlinable @discardableResult
  public func forEachChunk<K: LookupKey & ~Escapable>(
    _ key: K, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try key.encoded { key throws(StorageError) in try reads.read(key, nil, body) }.get()
  }

  /// Sets the value of a key.
  ///
  /// - Throws: `tooLarge` if the key or the value exceeds its limit. In that case, nothing has
  ///   changed.
  /// - Complexity: Reads one page for each level of the tree. Each leaf that changes adds one page
  ///   to the commit.
  @inlinable
  public func put<K: LookupKey & ~Escapable>(_ key: K, _ value: [UInt8]) throws {
    try put(key, value.span.bytes)
  }

  /// Sets the value of a key to the bytes of a span.
  ///
  /// The span may be borrowed from this transaction. Otherwise, this method works like
  /// ``put(_:_:)-(_,[UInt8])``.
  @inlinable
  public func put<K: LookupKey & ~Escapable>(_ key: K, _ value: RawSpan) throws {
    try key.encoded { key throws(StorageError) in try set(key, value) }
  }

  @usableFromInline
  func set(_ key: borrowing EncodedKey, _ value: RawSpan) throws(StorageError) {
    try value.withBytes { value throws(StorageError) in try put(key.bytes, value) }
  }

  /// Removes a key and its value, and returns whether the key existed.
  ///
  /// - Complexity: The same as ``put(_:_:)-(_,[UInt8])``.
  @inlinable @discardableResult
  public func delete<K: LookupKey & ~Escapable>(_ key: K) throws -> Bool {
    try key.encoded { key throws(StorageError) in try remove(key) }
  }

  @usableFromInline
  func remove(_ key: borrowing EncodedKey) throws(StorageError) -> Bool {
    requireOpen()
    let key = SearchKey(key.bytes)
    return try session.changing { () throws(StorageError) in
      guard try keyspace.writer.delete(key) else { return false }
      try keyspace.noteDeleted(1)
      return true
    }
  }
}
