extension KeyspaceReader {
  /// Bytes of the value of a key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   key over its limit.
  /// - Complexity: One page read for each level of the tree, none of the value's own pages.
  public func valueByteCount(_ key: Key) throws -> Int? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Bytes of the value of a key of one part, or `nil` if there is none.
  ///
  /// Otherwise as ``valueByteCount(_:)-(Key)``.
  public func valueByteCount(_ key: some KeyConvertible) throws -> Int? {
    try valueByteCount(Key(key))
  }

  /// Passes the whole value of a key to `body`, in pieces, in order; false if there is none.
  ///
  /// For values of any length, and without a copy: pieces lie in pages, and each is valid during
  /// its call only. An empty value has none.
  ///
  /// - Throws: What `body` throws; `corrupt` behind the last piece if the value as a whole is not
  ///   what was written.
  /// - Complexity: One page read for each level of the tree, and each page of the value once.
  @discardableResult
  public func forEachPiece(_ key: Key, _ body: (RawSpan) throws -> Void) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try reads.read(key, body) }.get()
  }

  /// Passes the whole value of a key of one part to `body`, in pieces, in order; false if there is
  /// none.
  ///
  /// Otherwise as ``forEachPiece(_:_:)-(Key,_)``.
  @discardableResult
  public func forEachPiece(
    _ key: some KeyConvertible, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try forEachPiece(Key(key), body)
  }
}
