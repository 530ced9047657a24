/// A key for a lookup in a keyspace.
///
/// A lookup key can be a ``KeyConvertible`` value, such as an integer or a string. It can also be a
/// span of bytes, or a ``Key``, which can have several components. `Int`, `Int64`, `String`, byte
/// arrays, spans and ``Key`` are encoded on the stack. All other types are encoded on the heap.
public protocol LookupKey: ~Escapable {
  /// Calls `body` once with the encoded key, which is valid only during the call.
  ///
  /// - Throws: `tooLarge` if the key exceeds the limit, or any error that `body` throws.
  func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError)
}

/// A key that the engine has encoded in memory for one call.
///
/// Only the engine can create an encoded key, because the search relies on eight zero bytes after
/// the key. Callers cannot store the key, because its memory is reused after the call.
public struct EncodedKey: ~Copyable {
  let bytes: Bytes

  init(_ bytes: Bytes) { self.bytes = bytes }
}

extension LookupKey where Self: ~Escapable {
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

@usableFromInline
func missingEncoding() -> StorageError {
  StorageError(
    .invalidArgument,
    "A custom key was not encoded, because its `withEncodedKey` method did not call `body`. "
      + "Change the method so that it calls `body` exactly once.")
}

/// Calls `body` with the encoded key, which is followed in memory by eight zero bytes.
///
/// The method throws `tooLarge` if the key exceeds the limit.
@inline(__always)
package func withSearchBytes<K: LookupKey & ~Escapable, R>(
  _ key: K, _ body: (Bytes) throws(StorageError) -> R
) throws(StorageError) -> R {
  try key.encoded { key throws(StorageError) in try body(key.bytes) }
}

extension KeyConvertible {
  /// Calls `body` with this value encoded as a key.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try Key(self).withEncodedKey(body)
  }
}

extension Int {
  /// Calls `body` with this integer encoded as a key.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try Int64(self).withEncodedKey(body)
  }
}

extension Int64 {
  /// Calls `body` with this integer encoded as a key.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try MutableBytes.withStackBytes(count: 24) { target throws(StorageError) in
      try body(EncodedKey(storeSearchKey(self, to: target)))
    }
  }
}

extension String {
  /// Calls `body` with this string encoded as a key.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try KeyBuffer.withMemory { target throws(StorageError) in
      try body(EncodedKey(storeSearchKey(self, to: target)))
    }
  }
}

extension [UInt8]: LookupKey {
  /// Calls `body` with these bytes encoded as a key.
  public func withEncodedKey(
    _ body: (borrowing EncodedKey) throws(StorageError) -> Void
  ) throws(StorageError) {
    try span.bytes.withEncodedKey(body)
  }
}

// State this conformance explicitly, because a conditional conformance to `KeyConvertible` does not
// imply a conformance to `LookupKey`.
extension Optional: LookupKey where Wrapped: KeyConvertible {}

extension RawSpan: LookupKey {
  /// Calls `body` with these bytes encoded as a key.
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
  /// Calls `body` with the encoded form of this key.
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
