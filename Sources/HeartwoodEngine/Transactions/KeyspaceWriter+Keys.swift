// As for ``KeyspaceReader``: the code that depends on the kind of key is inlined into the caller.

extension KeyspaceWriter {
  /// Returns a copy of the value of a key in this transaction, or `nil` if there is none; throws as
  /// ``KeyspaceReader/get(_:)``.
  @inlinable
  public func get<K: LookupKey & ~Escapable>(_ key: K) throws -> [UInt8]? {
    var value: [UInt8]?
    try key.withEncodedKey { key throws(StorageError) in value = try copy(key) }
    return value
  }

  @usableFromInline
  func copy(_ key: EncodedKey) throws(StorageError) -> [UInt8]? { try reads.get(key.bytes) }

  /// Passes the value of a key to `body`, or returns `nil` if there is none.
  ///
  /// The span is valid during the call, and only until this transaction changes something.
  @inlinable
  public func withValue<K: LookupKey & ~Escapable, R>(
    _ key: K, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    var found: LocatedValue?
    try key.withEncodedKey { key throws(StorageError) in found = try locate(key) }
    guard let found else { return nil }
    defer { found.release() }
    return try body(found.bytes.bytes)
  }

  @usableFromInline
  func locate(_ key: EncodedKey) throws(StorageError) -> LocatedValue? {
    try reads.locate(key.bytes)
  }

  /// Passes `range` of the value of a key to `body`, in chunks, in order; false if there is none.
  ///
  /// - Throws: As ``KeyspaceReader/read(_:range:_:)``.
  @inlinable @discardableResult
  public func read<K: LookupKey & ~Escapable>(
    _ key: K, range: Range<Int>, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try passPieces(of: key, range, body)
  }

  /// Returns the length of the value of a key in this transaction, or `nil` if there is none;
  /// throws as ``KeyspaceReader/valueByteCount(_:)``.
  @inlinable
  public func valueByteCount<K: LookupKey & ~Escapable>(_ key: K) throws -> Int? {
    var count: Int?
    try key.withEncodedKey { key throws(StorageError) in count = try byteCount(key) }
    return count
  }

  @usableFromInline
  func byteCount(_ key: EncodedKey) throws(StorageError) -> Int? {
    try reads.valueByteCount(key.bytes)
  }

  /// Passes the complete value of a key to `body`, in chunks, in order; false if there is none.
  ///
  /// As ``KeyspaceReader/forEachPiece(_:_:)``, with each chunk valid only until this transaction
  /// changes something. `body` may change the keyspace, but not this value.
  @inlinable @discardableResult
  public func forEachPiece<K: LookupKey & ~Escapable>(
    _ key: K, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    try passPieces(of: key, nil, body)
  }

  @inlinable
  func passPieces<K: LookupKey & ~Escapable>(
    of key: K, _ range: Range<Int>?, _ body: (RawSpan) throws -> Void
  ) throws -> Bool {
    var result = Result<Bool, any Error>.success(false)
    try key.withEncodedKey { key throws(StorageError) in
      result = try pieces(key, range, body)
    }
    return try result.get()
  }

  @usableFromInline
  func pieces(
    _ key: EncodedKey, _ range: Range<Int>?, _ body: (RawSpan) throws -> Void
  ) throws(StorageError) -> Result<Bool, any Error> {
    try reads.read(key.bytes, range: range, body)
  }

  /// Sets the value of a key.
  ///
  /// - Throws: `tooLarge` for a key or value over its limit, before anything is changed.
  /// - Complexity: One page read for each level of the tree; one page more in the commit for each
  ///   leaf that changes.
  @inlinable
  public func put<K: LookupKey & ~Escapable>(_ key: K, _ value: [UInt8]) throws {
    try put(key, value.span.bytes)
  }

  /// Sets the value of a key to the bytes of a span, which may be borrowed from this transaction;
  /// otherwise as ``put(_:_:)-(_,[UInt8])``.
  @inlinable
  public func put<K: LookupKey & ~Escapable>(_ key: K, _ value: RawSpan) throws {
    try key.withEncodedKey { key throws(StorageError) in try set(key, value) }
  }

  @usableFromInline
  func set(_ key: EncodedKey, _ value: RawSpan) throws(StorageError) {
    try value.withBytes { value throws(StorageError) in try put(key.bytes, value) }
  }

  /// Removes a key and its value; false if there was none.
  ///
  /// - Complexity: As ``put(_:_:)-(_,[UInt8])``.
  @inlinable @discardableResult
  public func delete<K: LookupKey & ~Escapable>(_ key: K) throws -> Bool {
    var isThere = false
    try key.withEncodedKey { key throws(StorageError) in isThere = try remove(key) }
    return isThere
  }

  @usableFromInline
  func remove(_ key: EncodedKey) throws(StorageError) -> Bool { try delete(key.bytes) }
}
