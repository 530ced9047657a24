// One overload for each kind of key, as in the other reads.

extension KeyspaceReader {
  /// Bytes of the value of an integer key, or `nil` if there is none.
  ///
  /// - Throws: `corrupt` or `io` if a page on the way cannot be trusted or read; `tooLarge` for a
  ///   key over its limit.
  /// - Complexity: One page read for each level of the tree, none of the value's own pages.
  public func valueByteCount(_ key: Int) throws -> Int? {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the whole value of an integer key to `body`, in pieces, in order; false if there is
  /// none.
  ///
  /// For values of any length, and without a copy: pieces lie in pages, and each is valid during
  /// its call only. An empty value has none.
  ///
  /// - Throws: What `body` throws; `corrupt` behind the last piece if the value as a whole is not
  ///   what was written.
  /// - Complexity: One page read for each level of the tree, and each page of the value once.
  @discardableResult
  public func forEachPiece(
    _ key: Int, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(Int64(key)) { key throws(StorageError) in try reads.read(key, body) }.get()
  }

  /// Bytes of the value of an integer key, or `nil` if there is none.
  public func valueByteCount(_ key: Int64) throws -> Int? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the whole value of an integer key to `body`, in pieces, in order; false if there is
  /// none.
  ///
  /// Otherwise as ``forEachPiece(_:_:)-(Int,_)``.
  @discardableResult
  public func forEachPiece(
    _ key: Int64, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try reads.read(key, body) }.get()
  }

  /// Bytes of the value of a string key, or `nil` if there is none.
  public func valueByteCount(_ key: String) throws -> Int? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the whole value of a string key to `body`, in pieces, in order; false if there is none.
  ///
  /// Otherwise as ``forEachPiece(_:_:)-(Int,_)``.
  @discardableResult
  public func forEachPiece(
    _ key: String, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try reads.read(key, body) }.get()
  }

  /// Bytes of the value of a key of bytes, or `nil` if there is none.
  public func valueByteCount(_ key: [UInt8]) throws -> Int? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the whole value of a key of bytes to `body`, in pieces, in order; false if there is
  /// none.
  ///
  /// Otherwise as ``forEachPiece(_:_:)-(Int,_)``.
  @discardableResult
  public func forEachPiece(
    _ key: [UInt8], _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try reads.read(key, body) }.get()
  }

  /// Bytes of the value of a key of a span's bytes, or `nil` if there is none.
  public func valueByteCount(_ key: RawSpan) throws -> Int? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the whole value of a key of a span's bytes to `body`, in pieces, in order; false if
  /// there is none.
  ///
  /// Otherwise as ``forEachPiece(_:_:)-(Int,_)``.
  @discardableResult
  public func forEachPiece(
    _ key: RawSpan, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try reads.read(key, body) }.get()
  }

  /// Bytes of the value of a key, or `nil` if there is none.
  public func valueByteCount(_ key: Key) throws -> Int? {
    try withSearchBytes(key) { key throws(StorageError) in try reads.valueByteCount(key) }
  }

  /// Passes the whole value of a key to `body`, in pieces, in order; false if there is none.
  ///
  /// Otherwise as ``forEachPiece(_:_:)-(Int,_)``.
  @discardableResult
  public func forEachPiece(
    _ key: Key, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try withSearchBytes(key) { key throws(StorageError) in try reads.read(key, body) }.get()
  }
}
