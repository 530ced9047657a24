// Each function is generic only up to the encoding of the key, and that part is inlined into the
// caller: a generic call across a module boundary would cost more than the read. `reads` points
// into the snapshot, so `self` has to live until the read is done.

extension KeyspaceReader {
  /// Returns a copy of the value of a key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way is corrupt or cannot be read; `tooLarge` for
  ///   a value longer than ``Store`` copies at once, and for a key over its limit.
  /// - Complexity: One page read for each level of the tree.
  @inlinable
  public func get<K: LookupKey & ~Escapable>(_ key: K) throws -> [UInt8]? {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.get(key) }
  }

  /// Passes the value of a key to `body`, or returns `nil` if there is none.
  ///
  /// A value that fits a page is not copied; the span is valid during the call only.
  ///
  /// - Throws: As ``get(_:)``, or any error of `body`.
  @inlinable
  public func withValue<K: LookupKey & ~Escapable, R>(
    _ key: K, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.locate(key) }?.use(body)
  }

  /// Passes `range` of the value of a key to `body`, in chunks, in order; false if there is none.
  ///
  /// - Throws: `invalidArgument` if the range is not within the value; as ``get(_:)``, but for
  ///   values of any length; any error of `body`.
  /// - Complexity: One page read for each level of the tree, and each page of the range once.
  @inlinable @discardableResult
  public func read<K: LookupKey & ~Escapable>(
    _ key: K, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.read(key, range, body) }.get()
  }

  /// Returns the length of the value of a key in bytes, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way is corrupt or cannot be read; `tooLarge` for
  ///   a key over its limit.
  /// - Complexity: One page read for each level of the tree, none of the value's own pages.
  @inlinable
  public func valueByteCount<K: LookupKey & ~Escapable>(_ key: K) throws -> Int? {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the complete value of a key to `body`, in chunks, in order; false if there is none.
  ///
  /// For values of any length, and without a copy: chunks are parts of pages, and each is valid
  /// during its call only. An empty value has none.
  ///
  /// - Throws: Any error of `body`; `corrupt` after the last chunk if the complete value is not as
  ///   written.
  /// - Complexity: One page read for each level of the tree, and each page of the value once.
  @inlinable @discardableResult
  public func forEachChunk<K: LookupKey & ~Escapable>(
    _ key: K, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    defer { withExtendedLifetime(self) {} }
    return try key.encoded { key throws(StorageError) in try reads.read(key, nil, body) }.get()
  }
}
