// In these methods, only the encoding of the key is generic. The encoding is inlined into the
// caller, because a generic call across a module boundary would cost more than the read itself.
// `reads` points into the snapshot, so `self` must stay alive until the read is done.

extension KeyspaceReader {
  /// Returns a copy of a key's value, or `nil` if the key does not exist.
  ///
  /// - Throws: `corrupt` if a page on the path to the value is corrupt, `io` if such a page cannot
  ///   be read, or `tooLarge` if the value is too long to be copied or the key exceeds its limit.
  /// - Complexity: One page read for each level of the tree.
  @inlinable
  public func get<K: LookupKey & ~Escapable>(_ key: K) throws -> [UInt8]? {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes a key's value to `body`, and returns the result of `body`.
  ///
  /// The method returns `nil` if the key does not exist. A value that fits in a page is not copied.
  /// The span is valid only during the call.
  ///
  /// - Throws: Any error that ``get(_:)`` or `body` throws.
  @inlinable
  public func withValue<K: LookupKey & ~Escapable, R>(
    _ key: K, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.locate(key) }?.use(body)
  }

  /// Passes the given range of a key's value to `body`, in consecutive chunks.
  ///
  /// The method returns `false` if the key does not exist.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value. Also throws any error that
  ///   `body` throws, and any error that ``get(_:)`` throws except `tooLarge` for a long value.
  /// - Complexity: One page read for each level of the tree, and one for each page of the range.
  @inlinable @discardableResult
  public func read<K: LookupKey & ~Escapable>(
    _ key: K, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.read(key, range, body) }.get()
  }

  /// Returns the length of a key's value in bytes, or `nil` if the key does not exist.
  ///
  /// - Throws: `corrupt` if a page on the path to the value is corrupt, `io` if such a page cannot
  ///   be read, or `tooLarge` if the key exceeds its limit.
  /// - Complexity: One page read for each level of the tree. The method does not read the pages of
  ///   the value itself.
  @inlinable
  public func valueByteCount<K: LookupKey & ~Escapable>(_ key: K) throws -> Int? {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes a key's complete value to `body`, in consecutive chunks.
  ///
  /// The method returns `false` if the key does not exist. The value may have any length and is not
  /// copied. Each chunk is part of a page, and is valid only during the call to `body` that
  /// receives it. An empty value has no chunks.
  ///
  /// - Throws: Any error that `body` throws, and any error that ``get(_:)`` throws except
  ///   `tooLarge` for a long value. Throws `corrupt` after the last chunk if the value differs from
  ///   the value that was written.
  /// - Complexity: One page read for each level of the tree, and one for each page of the value.
  @inlinable @discardableResult
  public func forEachChunk<K: LookupKey & ~Escapable>(
    _ key: K, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.read(key, nil, body) }.get()
  }
}
