/// A key for a lookup in a keyspace: a value of one component such as an integer, a string or a
/// byte array, the bytes of a span, or several components in a ``Key``.
///
/// A custom ``KeyConvertible`` type conforms as well. It is encoded on the heap; the types above
/// are encoded on the stack.
public protocol LookupKey: ~Escapable {
  /// Calls `body` once with the encoded key, which is valid during the call only.
  ///
  /// - Throws: `tooLarge` for a key over the limit; any error of `body`.
  func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError)
}

/// A key that the engine has encoded in memory, for one call.
///
/// Only the engine can create one, and callers cannot store it: eight zero bytes follow the key,
/// which a search relies on, and the memory is reused after the call.
public struct EncodedKey: ~Copyable {
  let bytes: Bytes

  init(_ bytes: Bytes) { self.bytes = bytes }
}

extension LookupKey where Self: ~Escapable {
  /// Returns the result of `body` for the encoded key.
  @inlinable
  func encoded<R>(
    _ body: (borrowing EncodedKey) throws(StorageError) -> R
  ) throws(StorageError) -> R {
    var result: R?
    try withEncodedKey { key throws(StorageError) in result = try body(key) }
    guard let result else { throw missingEncoding() }
    return result
  }
}

/// The error of a custom key that does not call the function it is passed.
@usableFromInline
func missingEncoding() -> StorageError {
  StorageError(
    .invalidArgument, "A key was not encoded. Its `withEncodedKey` must call `body` once.")
}

/// Returns the result of `body` for a key in memory, followed by eight zero bytes.
///
/// Throws ``StorageError/Kind/tooLarge`` if the key is longer than the limit.
@inline(__always)
package func withSearchBytes<K: LookupKey & ~Escapable, R>(
  _ key: K, _ body: (Bytes) throws(StorageError) -> R
) throws(StorageError) -> R {
  try key.encoded { key throws(StorageError) in try body(key.bytes) }
}

extension KeyConvertible {
  /// Calls `body` with the key whose only component is this value.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try Key(self).withEncodedKey(body)
  }
}

extension Int {
  /// Calls `body` with the key of this integer.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try Int64(self).withEncodedKey(body)
  }
}

extension Int64 {
  /// Calls `body` with the key of this integer.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try MutableBytes.withStackBytes(count: 24) { target throws(StorageError) in
      try body(EncodedKey(storeSearchKey(self, to: target)))
    }
  }
}

extension String {
  /// Calls `body` with the key of this string.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try KeyBuffer.withMemory { target throws(StorageError) in
      try body(EncodedKey(storeSearchKey(self, to: target)))
    }
  }
}

extension [UInt8]: LookupKey {
  /// Calls `body` with the key of these bytes.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try span.bytes.withEncodedKey(body)
  }
}

// The compiler requires inherited conditional conformances to be stated.
extension Optional: LookupKey where Wrapped: KeyConvertible {}

extension RawSpan: LookupKey {
  /// Calls `body` with the key of these bytes.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try KeyBuffer.withMemory { target throws(StorageError) in
      let end = withBytes { KeyBuffer.encode(.bytes, $0, to: target) }
      try body(EncodedKey(KeyBuffer.finish(target, at: end)))
    }
  }
}

extension Key: LookupKey {
  /// Calls `body` with this key.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try KeyBuffer.withMemory { target throws(StorageError) in
      let end = encoded.withBytes { encoded in
        if encoded.count <= Limits.maxKeyByteCount { target.copy(encoded, to: 0) }
        return encoded.count
      }
      try body(EncodedKey(KeyBuffer.finish(target, at: end)))
    }
  }
}
